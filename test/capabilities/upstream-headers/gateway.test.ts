import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../../support/start-before.ts';
import { startWorld } from '../../worlds/gateway.ts';
import { request } from '../../worlds/mcp.ts';

const headers =
  'headers: { X-Api-Key: k3y-of-the-upstream, X-Tenant-Key: { by: tenant, values: { acme: k3y-of-acme, globex: k3y-of-globex } } }';

const world = startBeforeAll(() =>
  startWorld({
    top: 'forward_auth: { listen: "127.0.0.1:0" }',
    routes: [
      `name: api, path: /api, audience: a, policy: api, upgrade: websocket, upstream: { url: "UPSTREAM", ${headers} }`,
      `name: tools, path: /mcp, protocol: mcp, audience: a, policy: tools, refusals: { final: tool_error }, upstream: { url: "UPSTREAM/mcp", ${headers} }`,
      'name: open, path: /open, public: true, upstream: { url: "UPSTREAM", headers: { x_open-Key: k3y-of-open } }',
      'name: basic, path: /basic, audience: a, upstream: { url: "UPSTREAM", headers: { Authorization: "Basic dXNlcjpwYXNz" } }',
      'name: other, path: /other, audience: a, upstream: { url: "UPSTREAM" }',
    ],
    policies: {
      api: 'because: ask sales for an entry\nrequests: { "* /**": {} }\n',
      tools:
        'because: ask sales for an entry\ntools: { pay: { because: only customers pay, quota: [{ count: 1, per: 1h }] }, look: {} }\n',
    },
  }),
);

function received(name: string): readonly string[] {
  const raw = world.upstream.seen.at(-1)?.rawHeaders ?? [];
  return raw.flatMap((each, index) => (index % 2 === 0 && each.toLowerCase() === name ? [raw[index + 1] ?? ''] : []));
}

const call = (name: string) => JSON.stringify(request('tools/call', { name, arguments: {} }));

describe('the upstream gets', () => {
  test('the constant fields, and those that the caller chooses by a claim', async () => {
    await world.send('/api/x', { token: await world.token({ tenant: 'globex' }) });
    expect([received('x-api-key'), received('x-tenant-key')]).toEqual([['k3y-of-the-upstream'], ['k3y-of-globex']]);
    await world.post('/mcp', await world.token({ tenant: 'acme' }), call('look'));
    expect([received('x-api-key'), received('x-tenant-key')]).toEqual([['k3y-of-the-upstream'], ['k3y-of-acme']]);
  });

  test('the constant fields on a public route, and Authorization where no token is sent', async () => {
    await world.send('/open');
    expect(received('x_open-key')).toEqual(['k3y-of-open']);
    await world.send('/basic', { token: await world.token() });
    expect(received('authorization')).toEqual(['Basic dXNlcjpwYXNz']);
  });

  test('none of the client with such a name, in any spelling', async () => {
    const token = await world.token({ tenant: 'acme' });
    const spelt = {
      'X-API-KEY': 'mine',
      X_Api_Key: 'mine',
      'x-api_key': 'mine',
      'X.Api.Key': 'mine',
      'x-Tenant_Key': 'mine',
    };
    await world.send('/api/x', { token, headers: spelt });
    expect(world.upstream.seen.at(-1)?.rawHeaders).not.toContain('mine');
    await world.sendRaw(
      'GET /api/x HTTP/1.1',
      'Host: gateway.test',
      `Authorization: Bearer ${token}`,
      'Connection: x-api-key, x-tenant-key',
    );
    expect([received('x-api-key'), received('x-tenant-key')]).toEqual([['k3y-of-the-upstream'], ['k3y-of-acme']]);
    await world.send('/open', { headers: { 'X-Open-Key': 'mine' } });
    expect(world.upstream.seen.at(-1)?.rawHeaders).not.toContain('mine');
    await world.send('/other', { token, headers: { 'X-Api-Key': 'mine' } });
    expect(received('x-api-key')).toEqual(['mine']);
  });

  test('them with the handshake of a WebSocket', async () => {
    const { port, hostname } = new URL(world.gateway.url);
    const before = world.upstream.seen.length;
    const socket = connect(Number(port), hostname);
    socket.write(
      [
        'GET /api/ws HTTP/1.1',
        'Host: gateway.test',
        `Authorization: Bearer ${await world.token({ tenant: 'acme' })}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'X_Tenant_Key: mine',
        '',
        '',
      ].join('\r\n'),
    );
    await expect.poll(() => world.upstream.seen.length).toBe(before + 1);
    socket.destroy();
    expect([received('x-api-key'), received('x-tenant-key')]).toEqual([['k3y-of-the-upstream'], ['k3y-of-acme']]);
    expect(world.upstream.seen.at(-1)?.rawHeaders).not.toContain('mine');
  });
});

describe('a caller without an entry', () => {
  test.each([[{}], [{ tenant: 'none' }], [{ tenant: null }], [{ tenant: ['acme'] }]])(
    '%j is refused',
    async (claims) => {
      const before = world.upstream.seen.length;
      const { status, challenge, text } = await world.send('/api/x', { token: await world.token(claims) });
      expect([status, challenge, JSON.parse(text)]).toMatchObject([
        403,
        null,
        { reason: 'credential.missing', detail: 'ask sales for an entry' },
      ]);
      expect(world.upstream.seen.length).toBe(before);
    },
  );

  test('gets a tool result with the words of the entry, and no quota counts the call', async () => {
    for (let calls = 0; calls < 2; calls += 1) {
      const { status, text } = await world.post('/mcp', await world.token({ sub: 'bob' }), call('pay'));
      expect(status).toBe(200);
      expect(text).toContain('only customers pay');
    }
    const { text } = await world.post('/mcp', await world.token({ sub: 'bob', tenant: 'acme' }), call('pay'));
    expect(text).not.toContain('isError');
    expect(await world.gateway.line({ reason: 'credential.missing', tool: 'pay' })).toMatchObject({
      detail: "upstream.headers.X-Tenant-Key has no entry for the caller's tenant",
    });
  });
});

test('a proxy that asks gets them, and a client that sends one of them is refused', async () => {
  const ask = async (headers: Record<string, string>) =>
    fetch(`${world.gateway.forwardAuthUrl}/_sallyport/authorize`, {
      headers: {
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': '/api/x',
        'x-forwarded-host': 'gateway.test',
        'x-forwarded-proto': 'http',
        authorization: `Bearer ${await world.token({ tenant: 'acme' })}`,
        ...headers,
      },
    });
  const permitted = await ask({});
  expect([permitted.status, permitted.headers.get('x-tenant-key')]).toEqual([200, 'k3y-of-acme']);
  expect((await ask({ X_Tenant_Key: 'mine' })).status).toBe(400);
});
