import { bytesOf, type Connection } from '../../bench/load/connection.ts';
import { flood, hold, sendOnce, upload, type Noise } from './attack.ts';
import { createSigner, TOOLS, type Target } from './world.ts';

const MIB = 1024 * 1024;
const MANY = 10_000;

function get(target: Target, token: string, path = '/api/data'): Buffer {
  return bytesOf(target.url, { method: 'GET', path, headers: { Authorization: `Bearer ${token}` } });
}

function post(target: Target, token: string, body: string): Buffer {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  };
  return bytesOf(target.url, { method: 'POST', path: '/mcp', headers, body });
}

function call(name: string, args: unknown = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
}

function head(target: Target, path: string, fields: string): string {
  const token = createSigner(target)('noisy');
  return [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(target.url).host}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `${fields}\r\n`,
  ].join('\r\n');
}

/** Repeats the same request. */
function repeated(connections: number, of: (target: Target, token: string) => Buffer): Noise {
  return (target, report) => {
    const bytes = of(target, createSigner(target)('noisy'));
    return flood(target, report, connections, (connection) => connection.ask(bytes));
  };
}

/** Sends a number of different requests. */
function distinct(count: number, connections: number, of: (target: Target) => (index: number) => Buffer): Noise {
  let sent = 0;
  return (target, report) => {
    const next = of(target);
    const until = sent + count;
    const ask = (connection: Connection): Promise<number> | undefined =>
      sent < until ? connection.ask(next((sent += 1))) : undefined;
    return flood(target, report, connections, ask, false);
  };
}

/** All kinds of noise, by name. */
export const noises: Readonly<Record<string, Noise>> = {
  '1,000 event streams': (target, report) =>
    hold(target, report, 1_000, { first: get(target, createSigner(target)('noisy'), '/events'), answers: 1_000 }),
  '200 bodies of 1 MB that never end': (target, report) =>
    hold(target, report, 200, {
      first: `${head(target, '/mcp', 'Content-Length: 1000000\r\n')}${' '.repeat(999_000)}`,
      each: ' ',
      answers: 1,
    }),
  '100 MB chunked, to be read': (target, report) =>
    flood(target, report, 2, () => upload(target, head(target, '/mcp', 'Transfer-Encoding: chunked\r\n'), 100 * MIB)),
  '100 MB chunked, passed on': (target, report) =>
    flood(target, report, 2, () => upload(target, head(target, '/api', 'Transfer-Encoding: chunked\r\n'), 100 * MIB)),
  '1 MB of header fields': (target, report) =>
    flood(target, report, 4, () => sendOnce(target, head(target, '/api', `X-Much: ${'x'.repeat(MIB)}\r\n`))),
  '10,000 tool names called': distinct(TOOLS / 2, 16, (target) => {
    const token = createSigner(target)('noisy');
    return (index) => post(target, token, call(`tool_${index}`));
  }),
  'lists of 10,000 tools': repeated(2, (target, token) =>
    post(target, token, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
  ),
  'JSON that is 10,000 deep': repeated(8, (target, token) =>
    post(target, token, call('get_balance', 0).replace(':0', `:${'['.repeat(MANY)}${']'.repeat(MANY)}`)),
  ),
  'JSON of 100,000 keys': repeated(2, (target, token) =>
    post(
      target,
      token,
      call('get_balance', Object.fromEntries(Array.from({ length: 10 * MANY }, (_, i) => [i.toString(36), 1]))),
    ),
  ),
};
