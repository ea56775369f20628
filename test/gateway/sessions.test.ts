import { afterAll, beforeAll, expect, test } from 'vitest';
import { request, startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

let world: McpWorld;
const initialize = request('initialize', { protocolVersion: '2025-06-18' });

beforeAll(async () => {
  world = await startMcpWorld();
  world.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'upstream-1' }).end('{}');
  };
});
afterAll(() => world.close());

async function sessionOf(claims: Record<string, unknown>): Promise<string> {
  return (await world.send(initialize, { claims })).headers.get('mcp-session-id') ?? '';
}

test('shows the client a bound session id, and the upstream its own', async () => {
  const session = await sessionOf({ sub: 'alice' });
  expect(session).not.toBe('upstream-1');
  for (const method of ['POST', 'GET', 'DELETE']) {
    const message = method === 'POST' ? request('ping') : undefined;
    const claims = { sub: 'alice', jti: method };
    const response = await world.send(message, { method, claims, headers: { 'mcp-session-id': session } });
    expect(response.status).toBe(200);
    expect(world.upstream.seen.at(-1)?.headers['mcp-session-id']).toBe('upstream-1');
  }
});

test.each([
  ['another person', { sub: 'bob' }],
  ['a client without a subject', { sub: undefined, client_id: 'alice' }],
])('R-108: %s gets 404, with the id of the request, and nothing reaches the upstream', async (_, claims) => {
  const session = await sessionOf({ sub: 'alice' });
  const before = world.upstream.seen.length;
  const response = await world.send(request('ping'), { claims, headers: { 'mcp-session-id': session } });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ id: 1, error: { data: { reason: 'session.unknown' } } });
  expect(world.upstream.seen.length).toBe(before);
});

test('drops the header in a spelling with underscores', async () => {
  await world.send(request('ping'), { headers: { mcp_session_id: 'upstream-1' } });
  expect(world.upstream.seen.at(-1)?.headers).not.toHaveProperty('mcp_session_id');
});

test('R-109: ignores the header in MCP 2026-07-28, and creates no session', async () => {
  const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover', 'mcp-session-id': 'x' };
  const response = await world.send(request('server/discover', params), { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('mcp-session-id')).toBeNull();
  expect(world.upstream.seen.at(-1)?.headers).not.toHaveProperty('mcp-session-id');
});
