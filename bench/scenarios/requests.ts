/**
 * The cost of one kind of request, for the gateway and its alternatives.
 *
 * @module
 */
import { toolCall, toolList } from '../answers.ts';
import type { Bench } from '../bench.ts';
import { cpuLines, measureCpu, type CpuAims } from '../compare-cpu.ts';
import type { Contender } from '../contender.ts';
import { express } from '../contenders/express.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { httpProxy3 } from '../contenders/http-proxy-3.ts';
import { nginx } from '../contenders/nginx.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { undiciFloor } from '../contenders/undici-floor.ts';
import type { Request } from '../load/wrk.ts';
import type { Scenario } from '../scenario.ts';

const all: readonly Contender[] = [nginx, haproxyJwt, undiciFloor, httpProxy3, express];

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A GET of a small document, or a `tools/call`. */
export function requestOf(kind: 'get' | 'post', token: string): Request {
  if (kind === 'get') return { method: 'GET', path: '/api', headers: bearer(token) };
  return { method: 'POST', path: '/mcp', headers: { ...bearer(token), ...json }, body: toolCall };
}

/** A GET of a small document with a JWT that was seen before. */
export const get: Scenario = {
  name: 'get',
  about: 'GET of 300 bytes, a JWT of 800 bytes that was seen before',
  run: (bench) =>
    compared(bench, (token) => requestOf('get', token), all, {
      'haproxy-jwt': 0.7,
      'http-proxy-3': 0.5,
      express: 0.3,
      'undici-floor': 1.25,
    }),
};

/** An MCP call. The gateway reads it, decides by tool and arguments, and forwards an event. */
export const post: Scenario = {
  name: 'post',
  about: 'POST tools/call of 200 bytes, answered by an event stream; the others do not read the message',
  run: (bench) =>
    compared(bench, (token) => requestOf('post', token), all, { 'haproxy-jwt': 0.9, 'http-proxy-3': 0.55 }),
};

/** A list of tools, filtered to those that the caller may call. */
export const list: Scenario = {
  name: 'list',
  about: 'POST tools/list, an answer of 20 tools (4 KiB), filtered to 10; the others filter nothing',
  run: (bench) =>
    compared(
      bench,
      (token) => ({ method: 'POST', path: '/mcp/list', headers: { ...bearer(token), ...json }, body: toolList }),
      [nginx, haproxyJwt, undiciFloor, httpProxy3],
      {},
    ),
};

/** A GET with an opaque token that was introspected before. */
export const opaque: Scenario = {
  name: 'opaque',
  about: 'GET of 300 bytes, an opaque token that was introspected before',
  async run(bench) {
    const { issuer, surroundings } = bench;
    const exp = Math.floor(Date.now() / 1000) + 24 * 3600;
    const claims = { iss: issuer.url, aud: surroundings.audience, sub: 'alice', scope: 'read', tenant: 'acme', exp };
    issuer.introspection.set('opaque-token', { active: true, ...claims });
    const request = (): Request => ({ method: 'GET', path: '/api', headers: bearer('opaque-token') });
    return compared(bench, request, [undiciFloor, httpProxy3], { 'undici-floor': 1.25, 'http-proxy-3': 0.5 });
  },
};

async function compared(
  bench: Bench,
  requestWith: (token: string) => Request,
  others: readonly Contender[],
  aims: CpuAims,
): ReturnType<Scenario['run']> {
  const request = requestWith(await bench.token());
  const contenders = [createSallyport(), ...bench.against.map(another), ...others].filter(wantedBy(bench));
  const samples = await bench.with(contenders, (running) => measureCpu(bench, running, () => request));
  return cpuLines(samples, contenders, aims);
}

/** Another checkout of the gateway. */
function another(root: string): Contender {
  return createSallyport({ name: `sallyport@${root}`, root });
}

function wantedBy({ only }: Bench): (contender: Contender) => boolean {
  return ({ name }) =>
    only === undefined || name === 'sallyport' || name.startsWith('sallyport@') || only.includes(name);
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
