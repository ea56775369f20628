import { once } from 'node:events';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** Called with a request that is not answered. */
let onHeld = (): void => {};
let status = 200;
const answered = { 'www-authenticate': 'Bearer resource_metadata="http://evil.example"' };

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() =>
  startUpstream((incoming, response) =>
    incoming.url === '/public/held' ? onHeld() : void response.writeHead(status, answered).end('ok'),
  ),
);
const gateway = startBeforeAll(() =>
  startTestGateway({
    yaml: `
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: secret }
routes:
  - name: api
    path: /api
    audience: https://api.example
    policy: api
    upstream: { url: ${upstream.url}/base, identity: { x-auth-subject: sub } }
  - name: tools
    path: /mcp
    protocol: mcp
    policy: tools
    upstream: { url: ${upstream.url}/mcp }
  - name: open
    path: /public
    public: true
    upstream: { url: ${upstream.url}/public }
`,
    policies: {
      api: 'scope: read\nclaims:\n  risk: { integer: true, below: 50 }\n',
      tools: 'scope: read\ntools:\n  "get_*": {}\n  pay: { scope: payments }\n',
    },
  }),
);

test('forwards an allowed call with its identity and without its token', async () => {
  const token = await issuer.sign({ aud: 'https://api.example', scope: 'read', risk: 20 });
  const response = await fetch(`${gateway.url}/api/x?y=1`, {
    headers: { authorization: `Bearer ${token}`, 'x-auth-subject': 'mallory' },
  });
  expect(response.status).toBe(200);
  const seen = upstream.seen.at(-1);
  expect(seen).toMatchObject({ method: 'GET', url: '/base/x?y=1' });
  expect(seen?.headers['x-auth-subject']).toBe('alice');
  expect(seen?.headers.authorization).toBeUndefined();
});

test('does not forward a refused call', async () => {
  const before = upstream.seen.length;
  const response = await fetch(`${gateway.url}/api/x`);
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(upstream.seen.length).toBe(before);
});

test('takes a 401 of an MCP server for a failure, and never shows its challenge', async () => {
  const token = await issuer.sign({ aud: 'http://gateway.test/mcp', scope: 'read' });
  status = 401;
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  status = 200;
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([502, null]);
});

test('counts a client that leaves before its answer as 499', async () => {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  onHeld = resolve;
  const asked = request(`${gateway.url}/public/held`).end();
  await reached;
  const left = once(asked, 'error');
  asked.destroy();
  await left;
  const counted = 'sallyport_requests_total{route="open",method="GET",status="499"} 1';
  await expect.poll(() => gateway.metrics()).toContain(counted);
});
