/**
 * Calls a tool of an MCP server as AI agents do: the official client keeps the session, and gets a token when it needs
 * one. For servers where a request of `curl` alone is refused, and to see a step-up.
 *
 * @module
 */
import { parseArgs } from 'node:util';

import { z } from 'zod';

import { createBrowser, signIn } from './browser.ts';
import { createAgent, type Agent } from './walk/agent.ts';
import { WalkingClient } from './walk/oauth-client.ts';
import type { Seen } from './walk/recorder.ts';

const usage = `node demo/call.ts [--user NAME] URL [TOOL [ARGUMENTS]]

  Calls TOOL of the MCP server at URL by the official client, and prints each refusal and the result.

  TOOL          default: lists the tools
  ARGUMENTS     a JSON object in single quotes, such as '{"id":1}'
  --user NAME   who signs in at the demo's authorization server: alice (the default), bob, carol,
                dave or erin

With the environment variable TOKEN, the client presents this access token, and no user signs in.`;

/** The first sign-in and a step-up. A server that asks once more refuses what it has just granted. */
const maxSignIns = 2;

type Arguments = Record<string, unknown>;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { user: { type: 'string', default: 'alice' }, help: { type: 'boolean' } },
});
const [url, tool, argumentsText = '{}'] = positionals;
if (values.help || url === undefined) console.log(usage);
else process.exitCode = await main(new URL(url), values.user);

async function main(server: URL, user: string): Promise<number> {
  const given = argumentsIn(argumentsText);
  if (given !== undefined) return run(server, user, given);
  console.log(`ARGUMENTS is not a JSON object: ${argumentsText}; write it in single quotes, such as '{"id":1}'`);
  return 2;
}

/** Undefined for a text that is no JSON object. */
function argumentsIn(text: string): Arguments | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function run(server: URL, user: string, given: Arguments): Promise<number> {
  const token = process.env.TOKEN;
  const agent = createAgent(server, new WalkingClient(), token ? { token: async () => token } : undefined);
  const browser = createBrowser();
  try {
    for (let signIns = 0; ; signIns += 1) {
      const result = await attempt(agent, given);
      if (result !== undefined) {
        console.log(JSON.stringify(result, null, 2));
        return 0;
      }
      await showRefusal(agent, server);
      if (token || signIns === maxSignIns) return 1;
      const authorizationUrl = agent.oauth.takeAuthorizationUrl();
      console.log(`${user} signs in and consents to "${authorizationUrl.searchParams.get('scope')}"`);
      await agent.redeem(await signIn({ authorizationUrl, user, browser }));
      agent.recorder.take();
    }
  } catch (error) {
    // Where the last answer is not a refusal of the server, the client itself refused: the issuer, the resource.
    if (!(await showRefusal(agent, server))) console.log(`${server.href}: ${reasonOf(error)}`);
    return 1;
  } finally {
    await agent.close();
  }
}

/** Undefined: the user must sign in first. */
async function attempt(agent: Agent, given: Arguments): Promise<unknown> {
  if (!(await agent.connect())) return undefined;
  if (tool === undefined) return (await agent.listTools()).map(({ name }) => name);
  const result = await agent.call(tool, given);
  return result?.content;
}

/** Why a request failed: the code of the system, such as ECONNREFUSED, or the message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ECONNREFUSED') return 'ECONNREFUSED: no server listens there';
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}

/**
 * Prints the last answer that was a refusal, as the client got it.
 *
 * @returns Whether it is the last answer of all, and that of `server`.
 */
async function showRefusal(agent: Agent, server: URL): Promise<boolean> {
  const all = agent.recorder.take();
  const seen: Seen | undefined = all.findLast(({ status, url }) => status >= 400 && url.href === server.href);
  if (seen === undefined) return false;
  console.log(`${seen.status} ${seen.headers.get('www-authenticate') ?? ''}`.trimEnd());
  const body = await seen.body;
  if (body !== '') console.log(body);
  return seen === all.at(-1);
}
