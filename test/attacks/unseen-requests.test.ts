/** What an approved HTTP request carries besides method and path: the upstream may act on what no person saw. */
import { describe, expect, test } from 'vitest';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startWorld({
    top: 'approvals: { authorization_servers: [main] }',
    routes: [
      'name: mcp, path: /mcp, protocol: mcp, policy: mcp, audience: a, below: pass, query: pass, upstream: { url: UPSTREAM }',
      'name: api, path: /api, policy: api, audience: a, upgrade: websocket, upstream: { url: UPSTREAM }',
      'name: plain, path: /plain, policy: api, audience: a, upstream: { url: UPSTREAM }',
    ],
    policies: {
      api: 'requests: { "* /**": { approval: { by: { claims: { role: boss } } } } }',
      mcp: 'tools: { pay: { approval: { by: { claims: { role: boss } } } } }',
    },
  }),
);
const boss = async (): Promise<string> =>
  world.token({ sub: 'boss', role: 'boss', aud: 'http://gateway.test/approvals' });

interface Found {
  readonly digest: string;
  readonly call: { readonly unshown?: unknown; readonly hidden: number };
}

describe('an approved request', () => {
  test('is another one with another header field, which the approver can read', async () => {
    const send = async (amount: string) =>
      world.send('/api/pay', { token: await world.token(), headers: { 'x-amount': amount } });
    const { approval } = JSON.parse((await send('5')).text) as { approval: { id: string } };
    const url = `/approvals/${approval.id}`;
    const found = JSON.parse((await world.send(url, { token: await boss() })).text) as Found;
    expect(found.call).toMatchObject({ hidden: 1, unshown: { headers: { 'x-amount': '5' } } });
    const { call: _call, ...list } = (
      JSON.parse((await world.send('/approvals', { token: await boss() })).text) as { approvals: Found[] }
    ).approvals[0] as Found;
    expect(JSON.stringify(list)).not.toContain('x-amount');
    const body = JSON.stringify({ decision: 'approve', digest: found.digest });
    const headers = { 'content-type': 'application/json' };
    expect((await world.send(url, { method: 'POST', token: await boss(), headers, body })).status).toBe(200);
    expect((await send('5000')).status).toBe(403);
    expect((await send('5')).status).toBe(200);
  });

  test('of an MCP server is another one with another query or path, where the route passes them', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } });
    const headers = { 'content-type': 'application/json' };
    const send = async (target: string) =>
      world.send(target, { method: 'POST', token: await world.token(), headers, body });
    const { error } = JSON.parse((await send('/mcp?account=1')).text) as {
      error: { data: { approval: { id: string } } };
    };
    const url = `/approvals/${error.data.approval.id}`;
    const found = JSON.parse((await world.send(url, { token: await boss() })).text) as Found;
    expect(found.call).toMatchObject({ name: 'pay', path: '/mcp?account=1' });
    const decision = JSON.stringify({ decision: 'approve', digest: found.digest });
    expect((await world.send(url, { method: 'POST', token: await boss(), headers, body: decision })).status).toBe(200);
    for (const other of ['/mcp?account=2', '/mcp', '/mcp/admin?account=1'])
      expect((await send(other)).text).toContain('"reason":"approval.required"');
    expect((await send('/mcp?account=1')).status).toBe(200);
  });

  test('opens no tunnel', async () => {
    const upgrade = async (path: string): Promise<string> =>
      world.sendRaw(
        `GET ${path} HTTP/1.1`,
        'Host: gateway.test',
        `Authorization: Bearer ${await world.token()}`,
        'Upgrade: websocket',
        'Connection: upgrade',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        '',
      );
    expect(await upgrade('/api/live')).toMatch(/^HTTP\/1\.1 415 .*"reason":"approval\.body"/s);
    expect(await upgrade('/plain/live')).toContain('"reason":"route.upgrade"');
  });
});
