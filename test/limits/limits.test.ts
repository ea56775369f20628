/** What one abusive client of a gateway with default limits gets; `bench/README.md` has measurements of other clients. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { peakKiB } from '../../bench/machine/process.ts';
import { listen } from '../../demo/listen.ts';
import { inFolder } from '../serve/config/folder.ts';
import { sallyport } from '../serve/process.ts';
import { startIssuer } from '../support/issuer.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

/** Far above the measurements in `bench/README.md`, far below the memory that the noise takes without limits. */
const GENEROUS_MIB = 700;
const MIB = 1024 * 1024;
const MANY = 10_000;
/** A client that is refused while it sends may lose the connection before it reads the status. */
const CLOSED = 0;

const tools = Array.from({ length: MANY }, (_, index) => ({ name: `tool_${index}`, inputSchema: { type: 'object' } }));
const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => {
  // Accepts far larger headers than the gateway, so that a refusal comes from the gateway.
  const server = createServer({ maxHeaderSize: 4 * MIB }, (request, response) => {
    if (request.url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n');
      return;
    }
    let isList = false;
    request.on('data', (chunk: Buffer) => (isList ||= chunk.includes('"tools/list"')));
    request.on('end', () => sendJson(response, 200, { jsonrpc: '2.0', id: 1, result: isList ? { tools } : {} }));
  });
  return listen(server, 0);
});
const gateway = startBeforeAll(async () => {
  const route = (name: string, more: string): string =>
    `  - { name: ${name}, path: /${name}, audience: a, ${more}, upstream: { url: "${upstream.url}/${name}" } }\n`;
  const yaml = `public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
${route('api', 'policy: reader')}${route('events', 'policy: reader')}${route('mcp', 'protocol: mcp, policy: tools')}`;
  const policies = {
    'policies/reader.yaml': '{ scope: read }',
    'policies/tools.yaml': '{ scope: read, tools: { "tool_1*": {}, get_balance: {} } }',
  };
  const running = await inFolder({ yaml, files: policies }, async (folder) => sallyport(['serve'], folder));
  const [, url = '', adminUrl = ''] = await running.says(/"url":"(http:[^"]+)","admin":"(http:[^"]+)"/);
  return {
    url,
    adminUrl,
    pid: running.pid,
    async close() {
      running.signal('SIGTERM');
      await running.ended;
    },
  };
});
let token: string;
beforeAll(async () => {
  token = await issuer.sign({ aud: 'a', scope: 'read' });
});

/** A request, or its beginning. */
function post(path: string, fields: string, body = ''): string {
  const accept = 'Accept: application/json, text/event-stream\r\nContent-Type: application/json';
  return `POST ${path} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\n${accept}\r\n${fields}\r\n\r\n${body}`;
}
const whole = (body: string): string => post('/mcp', `Content-Length: ${body.length}`, body);
const call = (name: string, args: unknown = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

function open(): Socket {
  return connect(Number(new URL(gateway.url).port), '127.0.0.1')
    .setEncoding('latin1')
    .setMaxListeners(0)
    .on('error', () => {});
}

/** The status of the first answer on a connection, which comes first. */
function answered(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('data', (text: string) => resolve(Number(text.slice(9, 12))));
    socket.once('close', () => resolve(CLOSED));
  });
}

/** Sends the same bytes on connections at once. */
async function sent(connections: number, bytes: string): Promise<readonly number[]> {
  const one = async (): Promise<number> => {
    const socket = open();
    socket.write(bytes);
    const status = await answered(socket);
    socket.destroy();
    return status;
  };
  return Promise.all(Array.from({ length: connections }, one));
}

/** Sends bytes on connections that stay open, until a number of them is answered. */
async function held(connections: number, bytes: string, answers: number): Promise<readonly number[]> {
  const sockets: Socket[] = [];
  const statuses: number[] = [];
  const full = Promise.withResolvers<void>();
  const noted = async (socket: Socket): Promise<void> => {
    statuses.push(await answered(socket));
    if (statuses.length === answers) full.resolve();
  };
  for (let opened = 0; opened < connections; opened += 1) {
    const socket = open();
    sockets.push(socket);
    void noted(socket);
    await once(socket, 'connect').catch(() => {});
    socket.write(bytes);
  }
  await full.promise;
  const found = [...statuses];
  for (const socket of sockets) socket.destroy();
  return found;
}

/** Sends 100 MB in chunks, or as much as is read before the answer. */
async function uploaded(path: string): Promise<readonly number[]> {
  const socket = open();
  const status = answered(socket);
  socket.write(post(path, 'Transfer-Encoding: chunked'));
  const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
  for (let count = 0; count < 1_600 && socket.writable; count += 1) {
    const next = socket.write(chunk, 'latin1') ? undefined : once(socket, 'drain').catch(() => {});
    if (typeof (await Promise.race([status, next])) === 'number') break;
  }
  const found = await status;
  socket.destroy();
  return [found];
}

/** One connection calls many names, one after the other. */
async function named(): Promise<readonly number[]> {
  const socket = open();
  const statuses: number[] = [];
  for (let index = 0; index < 600; index += 1) {
    const status = answered(socket);
    socket.write(whole(call(`tool_${index}`)));
    statuses.push(await status);
  }
  socket.destroy();
  return statuses;
}

const keys = (): object => Object.fromEntries(Array.from({ length: 10 * MANY }, (_, index) => [index.toString(36), 1]));
const deep = `${'['.repeat(MANY)}${']'.repeat(MANY)}`;

// An HTTP route streams a body: test/core/gateway/forward/failures.test.ts.
test.for<[string, readonly number[], () => Promise<readonly number[]>]>([
  ['1 MB of header fields', [431], () => sent(4, post('/api', `X-Much: ${'x'.repeat(MIB)}`))],
  ['100 MB chunked, to be read', [413], () => uploaded('/mcp')],
  ['JSON that is 10,000 deep', [400], () => sent(8, whole(call('get_balance', 0).replace(':0', `:${deep}`)))],
  ['JSON of 100,000 keys', [400], () => sent(2, whole(call('get_balance', keys())))],
  ['lists of 10,000 tools', [200], () => sent(2, whole('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'))],
  ['1,000 event streams', [200], () => held(1_000, post('/events', 'Content-Length: 0'), 1_000)],
  [
    '200 bodies of 1 MB that never end',
    [503],
    () => held(200, post('/mcp', 'Content-Length: 1000000', ' '.repeat(999_000)), 1),
  ],
  ['600 tool names called', [200, 403], named],
])('stays within its memory under %s and answers %s', { timeout: 300_000 }, async ([, statuses, noise]) => {
  const found = new Set((await noise()).filter((status) => status !== CLOSED));
  expect(found).toEqual(new Set(statuses));
  expect(peakKiB(gateway.pid) / 1024).toBeLessThan(GENEROUS_MIB);
  // No value that callers choose is a label of a metric.
  const page = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  expect(page.split('\n').filter((line) => /^[a-z]/.test(line)).length).toBeLessThan(500);
});
