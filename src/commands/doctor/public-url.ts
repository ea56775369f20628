import { parsedJson } from '../../core/lib/json/parsed.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { isLoopbackUrl } from '../../core/lib/ip-address.ts';
import type { Config } from '../../ports/config.ts';
import type { Route } from '../../core/model/route.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { metadataDocuments, metadataUrl } from '../../core/gateway/respond/resource-metadata.ts';
import { fetchText, type TextAnswer } from './finding.ts';
import { remedyForReason } from '../../capabilities/finding.ts';
import { type Finding, type Findings, findingsOn } from '../../capabilities/finding.ts';

const proxyRemedy = 'let the proxy in front of the gateway pass this path on, with all headers of the answer';
const reloadRemedy = 'reload or restart the gateway with this file';

/** Examines the gateway as clients see it: the RFC 9728 metadata of each resource, and the challenge of its route. */
export async function examinePublicUrl(config: Config): Promise<readonly Finding[]> {
  const on = findingsOn('public_url');
  const resources = config.routes.filter(({ resource }) => resource !== undefined);
  const [first] = resources;
  if (first === undefined) return [on.ok(`${config.publicUrl}: no route has a resource, so there are no metadata`)];
  const url = metadataUrl(first, config.publicUrl) ?? '';
  let inFront: readonly Finding[];
  try {
    inFront = examineIdle(on, await fetchText(url, { method: 'HEAD' }), config);
  } catch (error) {
    return [unreachable(on, url, reasonOf(error), config)];
  }
  const found = await Promise.all(resources.map((route) => examineResource(route, config)));
  return [...examineName(on, config), ...inFront, ...found.flat()];
}

/** What stands in front of gateways, by a field of its answers, and how long it keeps an idle connection. */
const balancers: readonly { name: string; field: string; form: RegExp; idleSeconds: number }[] = [
  { name: 'a Google Cloud balancer', field: 'via', form: /\bgoogle\b/i, idleSeconds: 600 },
  { name: 'an AWS balancer', field: 'server', form: /^awselb\b/i, idleSeconds: 60 },
  {
    name: 'an Azure Application Gateway',
    field: 'server',
    form: /^Microsoft-Azure-Application-Gateway\b/i,
    idleSeconds: 240,
  },
  { name: 'Caddy', field: 'server', form: /\bCaddy\b/i, idleSeconds: 120 },
  { name: 'Caddy', field: 'via', form: /\bCaddy\b/i, idleSeconds: 120 },
  { name: 'Envoy', field: 'server', form: /^(?:envoy|istio-envoy)\b/i, idleSeconds: 3600 },
  { name: 'nginx', field: 'server', form: /^nginx\b/i, idleSeconds: 60 },
];

/** A request is lost that a balancer sends on a connection which the gateway is closing. */
function examineIdle(on: Findings, { headers }: TextAnswer, { limits }: Config): readonly Finding[] {
  const found = balancers.find(({ field, form }) => form.test(headers.get(field) ?? ''));
  const seconds = limits.idleMs / 1000;
  if (found === undefined || seconds > found.idleSeconds) return [];
  const theirs = `${found.name} answers, which keeps idle connections for ${found.idleSeconds} s unless it is set`;
  const text = `${theirs}, and limits.idle is ${seconds} s`;
  const remedy = `set limits: { idle: ${found.idleSeconds + 10}s }, or let it keep them for less than ${seconds} s`;
  return [on.warn(text, remedy)];
}

/** Clients compare the resource with the URL that their user entered, RFC 9728 §3.3. */
function examineName(on: Findings, { publicUrl }: Config): readonly Finding[] {
  if (new URL(publicUrl).hostname !== 'localhost') return [];
  const text = `${publicUrl} is another resource than http://127.0.0.1, for clients that were given that`;
  return [on.warn(text, `give every client a URL that begins ${publicUrl}`)];
}

function unreachable(on: Findings, url: string, reason: string, config: Config): Finding {
  const text = `${url} cannot be reached (${reason})`;
  if (reason === 'ECONNREFUSED') return on.warn(text, 'start the gateway (`sallyport serve`), then run doctor again');
  const remedy = 'set public_url to the URL that clients use; check its name, certificate and firewall';
  return on.fail(text, remedyForReason(reason, remedyForOther(config) ?? remedy));
}

/** The remedy for an answer that is not the gateway's; undefined where a proxy may stand in front of it. */
function remedyForOther({ publicUrl, listen }: Config): string | undefined {
  const { protocol, port } = new URL(publicUrl);
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  if (listen.port !== number || !isLoopbackUrl(publicUrl)) return undefined;
  const how = `ss -ltnp "sport = :${number}" (on macOS lsof -nP -iTCP:${number} -sTCP:LISTEN)`;
  return `another program listens on port ${number}: find it with ${how}, stop it, or change listen and public_url`;
}

function remedyForAnswer({ text }: TextAnswer, config: Config): string {
  const isGateway = typeof ownMember(parsedJson(text), 'decision') === 'string';
  if (isGateway) return reloadRemedy;
  return remedyForOther(config) ?? proxyRemedy;
}

async function examineResource(route: Route, config: Config): Promise<readonly Finding[]> {
  const on = findingsOn(`routes.${route.name}`);
  const url = metadataUrl(route, config.publicUrl) ?? '';
  try {
    return [
      ...examineAudience(on, route, config),
      examineMetadata(on, url, await fetchText(url), config),
      examineChallenge(on, url, route, await fetchText(config.publicUrl + route.path), config),
    ];
  } catch (error) {
    return [unreachable(on, url, reasonOf(error), config)];
  }
}

/** MCP clients ask for a token for the resource (RFC 8707). Servers that know `resource` write it into `aud`. */
function examineAudience(
  on: Findings,
  { audiences, path, protocol }: Route,
  { publicUrl }: Config,
): readonly Finding[] {
  const resource = publicUrl + path;
  if (protocol !== 'mcp' || audiences.includes(resource)) return [];
  const text = `its audience is ${audiences.join(', ')}, and MCP clients ask for tokens for ${resource}`;
  return [
    on.warn(text, `unless the server writes that audience whatever clients ask for, add ${resource} to audience`),
  ];
}

function expectedMetadata(url: string, config: Config): string {
  return metadataDocuments(config, []).get(new URL(url).pathname)?.toString() ?? '';
}

function examineMetadata(on: Findings, url: string, answer: TextAnswer, config: Config): Finding {
  const { status, text } = answer;
  const expected = expectedMetadata(url, config);
  if (status !== 200) return on.fail(`${url} answered ${status}, not the metadata`, remedyForAnswer(answer, config));
  if (text === expected) return on.ok(`${url} has the metadata of this configuration`);
  const [found, wanted] = [text, expected].map((each) => ownMember(parsedJson(each), 'resource'));
  if (found !== wanted) {
    const names = `${url} names the resource ${describeValue(found)}, not ${describeValue(wanted)}`;
    const other = found === undefined ? remedyForOther(config) : undefined;
    const remedy = 'clients refuse that (RFC 9728 §3.3): set public_url, or find out which program answers there';
    return on.fail(names, other ?? remedy);
  }
  return on.warn(`${url} has other metadata than this configuration`, reloadRemedy);
}

/** MCP clients find the metadata by the challenge of a 401. */
function examineChallenge(on: Findings, url: string, { protocol }: Route, answer: TextAnswer, config: Config): Finding {
  const { status, headers } = answer;
  const challenge = headers.get('www-authenticate') ?? '';
  if (status !== 401)
    return on.fail(`a request without a token gets ${status}, not 401`, remedyForAnswer(answer, config));
  if (protocol === 'http') return on.ok('a request without a token gets 401');
  const parameter = `resource_metadata="${url}"`;
  if (challenge.includes(parameter)) return on.ok('a request without a token gets 401, which names the metadata');
  return on.fail(`a request without a token gets 401 without ${parameter}`, proxyRemedy);
}
