import { reasonOf } from '../../lib/error-reason.ts';
import { McpServerFault } from '../../mcp/client/ask-server.ts';
import { listTools } from '../../mcp/client/list-tools.ts';
import type { Config } from '../../model/config.ts';
import { type Route, serverUrl } from '../../model/route.ts';
import { fetchText } from './fetch-text.ts';
import { type Finding, type Findings, findingsOn } from './finding.ts';

/** Examines the upstream of each route, without credentials; it calls no tool. */
export async function examineUpstreams({ routes }: Config): Promise<readonly Finding[]> {
  return Promise.all(routes.map(examineUpstream));
}

function examineUpstream(route: Route): Promise<Finding> {
  const { protocol, upstream } = route;
  const on = findingsOn(`routes.${route.name}.upstream`);
  const url = serverUrl(upstream);
  return protocol === 'mcp' ? examineMcp(on, url, route) : examineHttp(on, url);
}

async function examineMcp(on: Findings, url: string, { upstream, policy }: Route): Promise<Finding> {
  try {
    const { revision, tools } = await listTools(url);
    const listed = policy === undefined ? tools : tools.filter(({ name }) => policy.toolEntry(name) !== undefined);
    const names = tools.length === 1 ? '1 tool' : `${tools.length} tools`;
    const ofPolicy = policy === undefined ? '' : `, of which the policy lists ${listed.length}`;
    return on.ok(`${url} speaks MCP ${revision} and has ${names}${ofPolicy}`);
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    const text = `${url} ${error.kind === 'unreachable' ? `cannot be reached (${error.message})` : error.message}`;
    if (error.kind === 'unreachable')
      return on.fail(text, 'start it, and check that upstream.url holds from this machine');
    if (error.kind === 'other') return on.fail(text, 'set upstream.url to the URL of its MCP endpoint');
    if (upstream.token.kind !== 'none') return on.ok(`${text}; the gateway sends it a token (${upstream.token.kind})`);
    return on.fail(text, 'disable its own authorization, or set upstream.token');
  }
}

async function examineHttp(on: Findings, url: string): Promise<Finding> {
  try {
    const { status } = await fetchText(url, 'HEAD');
    if (status < 500) return on.ok(`${url} answers (${status} to HEAD)`);
    return on.warn(`${url} answered ${status} to HEAD`, 'look at its log');
  } catch (error) {
    const text = `${url} cannot be reached (${reasonOf(error)})`;
    return on.fail(text, 'start it, and check that upstream.url holds from this machine');
  }
}
