/**
 * Calls a tool of an MCP server as AI agents do: the official client keeps the session, and gets a token when it needs
 * one. For servers where a request of `curl` alone is refused, and to see a step-up.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { z } from 'zod';

import { createBrowser, signIn } from './browser.ts';
import { createAgent, type Agent } from './walk/agent.ts';
import { WalkingClient } from './walk/oauth-client.ts';
import type { Seen } from './walk/recorder.ts';

const usage = `node demo/call.ts [--user NAME] [--wait] URL [TOOL [ARGUMENTS]]

  Calls TOOL of the MCP server at URL by the official client, and prints each refusal and the result.

  TOOL          default: lists the tools
  ARGUMENTS     a JSON object in single quotes, such as '{"id":1}'
  --user NAME   who signs in at the demo's authorization server: alice (the default), bob, carol,
                dave or erin
  --wait        repeats a call that waits for a person's approval, until it is decided

With the environment variable TOKEN, the client presents this access token, and no user signs in.`;

/** The first sign-in and a step-up. A server that asks once more refuses what it has just granted. */
const maxSignIns = 2;

type Arguments = Record<string, unknown>;

/** A call that threw. */
class Failed {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

const waitingBody = z.object({
  error: z.object({
    data: z.object({ reason: z.literal('approval.required'), approval: z.object({ id: z.string() }) }),
  }),
});

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { user: { type: 'string', default: 'alice' }, wait: { type: 'boolean' }, help: { type: 'boolean' } },
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
    let signIns = 0;
    let shown: string | undefined;
    for (;;) {
      const result = await attempt(agent, given).catch((error: unknown) => new Failed(error));
      const refusal = result === undefined || result instanceof Failed ? takeRefusal(agent, server) : undefined;
      if (result instanceof Failed) {
        const id = refusal?.isLast === true ? await waitingId(refusal.seen) : undefined;
        if (refusal !== undefined && (id === undefined || id !== shown)) await show(refusal.seen);
        if (refusal?.isLast !== true) console.log(`${server.href}: ${reasonOf(result.cause)}`);
        if (values.wait !== true || id === undefined) return 1;
        shown = id;
        // Its token may end meanwhile. The user then signs in again, at the same client: it is the same call.
        signIns = 0;
        await sleep(1_000);
        continue;
      }
      if (result !== undefined) {
        console.log(JSON.stringify(result, null, 2));
        return 0;
      }
      if (refusal !== undefined) await show(refusal.seen);
      if (token || signIns === maxSignIns) return 1;
      signIns += 1;
      const authorizationUrl = agent.oauth.takeAuthorizationUrl();
      console.log(`${user} signs in and consents to "${authorizationUrl.searchParams.get('scope')}"`);
      await agent.redeem(await signIn({ authorizationUrl, user, browser }));
      agent.recorder.take();
    }
  } catch (error) {
    const refusal = takeRefusal(agent, server);
    if (refusal !== undefined) await show(refusal.seen);
    // Where the last answer is not a refusal of the server, the client itself refused: the issuer, the resource.
    if (refusal?.isLast !== true) console.log(`${server.href}: ${reasonOf(error)}`);
    return 1;
  } finally {
    await agent.close();
  }
}

/** The id of the request for an approval, if a refusal says that a person must approve the call. */
async function waitingId({ body }: Seen): Promise<string | undefined> {
  const [, json = 'null'] = /^(\{.*\})$/s.exec((await body).trim()) ?? [];
  return waitingBody.safeParse(JSON.parse(json)).data?.error.data.approval.id;
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

interface Refusal {
  /** The last answer of the server that was a refusal, as the client got it. */
  readonly seen: Seen;
  /** Whether it is the last answer of all. */
  readonly isLast: boolean;
}

function takeRefusal(agent: Agent, server: URL): Refusal | undefined {
  const all = agent.recorder.take();
  const seen = all.findLast(({ status, url }) => status >= 400 && url.href === server.href);
  return seen && { seen, isLast: seen === all.at(-1) };
}

async function show(seen: Seen): Promise<void> {
  console.log(`${seen.status} ${seen.headers.get('www-authenticate') ?? ''}`.trimEnd());
  const body = await seen.body;
  if (body !== '') console.log(body);
}
