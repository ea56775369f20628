/**
 * The cost of one kind of request, for the gateway and its alternatives.
 *
 * @module
 */
import { modernHeaders, modernToolCall, toolCall, toolList, TOOLS } from '../answers.ts';
import type { Bench, Scenario } from '../bench.ts';
import { cpuLines, measureCpu, type CpuAims } from '../compare-cpu.ts';
import type { Contender } from '../contender.ts';
import { apacheOpenidc } from '../contenders/apache-openidc.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { nginx } from '../contenders/nginx.ts';
import { express, httpProxy3, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import type { Request } from '../load/wrk.ts';

/** The kinds of request. `post` is a `tools/call` of a legacy revision, `post-modern` one of 2026-07-28. */
export type Kind = 'get' | 'connect' | 'post' | 'post-modern' | 'list' | 'opaque';

const OPAQUE = 'opaque-token';

/** The request of a kind, with a token that is valid for the whole run. */
async function requestFor(bench: Bench, kind: Kind): Promise<Request> {
  const { issuer, surroundings } = bench;
  if (kind !== 'opaque') return requestOf(kind, await bench.token());
  const exp = Math.floor(Date.now() / 1000) + 24 * 3600;
  const claims = { iss: issuer.url, aud: surroundings.audience, sub: 'alice', scope: 'read', tenant: 'acme', exp };
  issuer.introspection.set(OPAQUE, { active: true, ...claims });
  return requestOf('get', OPAQUE);
}

/** The request of a kind, with a given token. */
export function requestOf(kind: Exclude<Kind, 'opaque'>, token: string): Request {
  const authorization = `Bearer ${token}`;
  if (kind === 'get') return { method: 'GET', path: '/api', headers: { authorization } };
  if (kind === 'connect') return { method: 'GET', path: '/api', headers: { authorization, connection: 'close' } };
  const headers = {
    authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(kind === 'post-modern' ? modernHeaders : { 'mcp-protocol-version': '2025-11-25' }),
  };
  const body = { list: toolList, post: toolCall, 'post-modern': modernToolCall }[kind];
  return { method: 'POST', path: kind === 'list' ? '/mcp/list' : '/mcp', headers, body };
}

const verifying: readonly Contender[] = [haproxyJwt, apacheOpenidc, express];
const all: readonly Contender[] = [undiciFloor, nginx, httpProxy3, ...verifying];
const callAims = { 'undici-floor': 1.2, 'http-proxy-3': 0.62, 'apache-openidc': 0.6 };

/** A GET of a small document with a JWT that was seen before. */
export const get = comparison('get', 'GET of 300 bytes, a JWT of 800 bytes that was seen before', all, {
  'undici-floor': 1.15,
  'http-proxy-3': 0.45,
  express: 0.25,
  'apache-openidc': 0.6,
});

/** The same GET over a connection of its own. */
export const connect = comparison(
  'connect',
  'GET of 300 bytes, a JWT that was seen before, a connection for each request',
  [undiciFloor, httpProxy3],
  {},
);

/** An MCP call. The gateway reads it, decides by tool and arguments, and forwards an event. */
export const post = comparison(
  'post',
  'POST tools/call of 200 bytes, 2025-11-25, answered by an event stream; the others do not read the message',
  all,
  callAims,
);

/** The same call as a message of 2026-07-28. */
export const postModern = comparison(
  'post-modern',
  'POST tools/call, 2026-07-28, answered by an event stream; the others do not read the message',
  all,
  callAims,
);

/** A list of tools, filtered to those that the caller may call. */
export const list = comparison(
  'list',
  `POST tools/list, an answer of ${TOOLS} tools, filtered to half of them; the others filter nothing`,
  [undiciFloor, nginx, httpProxy3, haproxyJwt],
  { 'undici-floor': 1.2 },
);

/** A GET with an opaque token that was introspected before. */
export const opaque = comparison(
  'opaque',
  'GET of 300 bytes, an opaque token that was introspected before',
  [undiciFloor, httpProxy3],
  { 'undici-floor': 1.18 },
);

function comparison(kind: Kind, about: string, others: readonly Contender[], aims: CpuAims): Scenario {
  return {
    name: kind,
    about,
    async run(bench) {
      const request = await requestFor(bench, kind);
      const contenders = compared(bench, others);
      const samples = await bench.with(contenders, (running) => measureCpu(bench, running, request));
      return cpuLines(samples, contenders, aims);
    },
  };
}
