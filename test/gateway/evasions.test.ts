import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { request, startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

let world: McpWorld;
let before: number;

beforeAll(async () => {
  world = await startMcpWorld({
    policy: 'tools:\n  ok: {}\n  pay: { arguments: { /as_admin: { present: false } } }\n',
  });
});
beforeEach(() => {
  before = world.upstream.seen.length;
});
afterAll(() => world.close());

const reached = (): number => world.upstream.seen.length - before;

describe('refuses keys in other cases, which some upstreams read as decisive ones', () => {
  test.each([
    [
      'a call that looks like a response',
      { jsonrpc: '2.0', id: 1, Method: 'tools/call', params: { name: 'x' }, result: {} },
      400,
    ],
    ['arguments in another case', request('tools/call', { name: 'pay', Arguments: { as_admin: true } }), 400],
    ['an argument in another case', request('tools/call', { name: 'pay', arguments: { As_Admin: true } }), 403],
  ])('%s', async (_, message, status) => {
    expect((await world.send(message)).status).toBe(status);
    expect(reached()).toBe(0);
  });
});

test('gives callers without an identity no common session', async () => {
  world.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'S1' }).end('{}');
  };
  const aud = 'http://gateway.test/mcp';
  world.issuer.introspection.set('a', { active: true, aud, username: 'alice' });
  world.issuer.introspection.set('b', { active: true, aud, username: 'bob' });
  const session = (await world.send(request('initialize'), { token: 'a' })).headers.get('mcp-session-id') ?? '';
  const response = await world.send(request('ping'), { token: 'b', headers: { 'mcp-session-id': session } });
  expect(response.status).toBe(404);
});

describe('filters lists in every kind of answer', () => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'ok' }, { name: 'hidden' }] } });

  test.each([
    ['with 201', 201, 'application/json', list],
    ['behind a BOM', 200, 'text/event-stream', `\uFEFFdata: ${list}\n\n`],
  ])('%s', async (_, status, type, body) => {
    world.handle = (_request, response) => void response.writeHead(status, { 'content-type': type }).end(body);
    const text = await (await world.send(request('tools/list'))).text();
    expect(text).toContain('"ok"');
    expect(text).not.toContain('hidden');
  });

  test('filters lists on a GET stream, resumed or not', async () => {
    world.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${list}\n\n`);
    expect(await (await world.send(undefined, { method: 'GET' })).text()).not.toContain('hidden');
  });
});

test('removes the challenge of an upstream', async () => {
  world.handle = (_request, response) =>
    void response.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="http://evil.example"' }).end();
  const response = await world.send(request('ping'));
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([502, null]);
});

test('shortens a name of a megabyte in the log', async () => {
  await world.send(request('tools/call', { name: 'x'.repeat(900_000) }));
  expect(JSON.stringify(await world.gateway.decision()).length).toBeLessThan(2_000);
});

test('refuses too many subscriptions', async () => {
  const resourceSubscriptions = Array.from({ length: 101 }, (_, i) => `a://${i}`);
  const response = await world.send(request('subscriptions/listen', { notifications: { resourceSubscriptions } }));
  expect(response.status).toBe(400);
});
