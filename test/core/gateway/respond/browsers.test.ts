import { beforeAll, expect, test } from 'vitest';
import { exchangeRaw, lastHead } from '../../../support/raw.ts';
import { request, startMcpWorld } from '../../../worlds/mcp.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

// test/core/gateway/listen/allow.test.ts has the tables of hosts and origins, cross-origin.test.ts that of preflights.

const page = { origin: 'https://app.example' };

const world = startBeforeAll(() =>
  startMcpWorld({ top: 'allowed_origins: [https://app.example]\nallowed_hosts: [internal]\n' }),
);
beforeAll(async () => {
  world.handle = (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*', vary: 'Accept' })
      .end('{}');
  };
});

const ping = (headers: Record<string, string>): Promise<Response> => world.send(request('ping'), { headers });

test('an allowed page may call and read the answer', async () => {
  const response = await ping(page);
  expect(response.status).toBe(200);
  expect(response.headers.get('access-control-allow-origin')).toBe(page.origin);
  expect(response.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
  expect(response.headers.get('vary')).toBe('Accept, Origin');
  const withoutOrigin = await ping({});
  expect(withoutOrigin.headers.get('access-control-allow-origin'), 'of the upstream').toBeNull();
});

test('R-114: another page gets 403, and nothing reaches the upstream', async () => {
  const before = world.upstream.seen.length;
  const response = await ping({ origin: 'null' });
  expect(response.status).toBe(403);
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  expect(response.headers.get('www-authenticate')).toBeNull();
  expect(world.upstream.seen.length).toBe(before);
});

test('R-115: a Host of the gateway is served, and another one refused, as after DNS rebinding', async () => {
  const statusOf = async (host: string): Promise<string> =>
    (await exchangeRaw(world.gateway.url, lastHead('GET /mcp').replace('gateway.test', host))).slice(9, 12);
  expect([await statusOf('gateway.test:8080'), await statusOf('internal')]).toEqual(['401', '401']);
  expect(await statusOf('evil.example')).toBe('403');
});

test('R-116: a preflight is answered without a token and without the upstream', async () => {
  const preflight = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${world.gateway.url}/mcp`, { method: 'OPTIONS', headers });
  const before = world.upstream.seen.length;
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-param-region' };
  const response = await preflight({ ...page, ...asked });
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-methods')).toBe('POST, GET, DELETE');
  expect(response.headers.get('access-control-allow-headers')).toContain('mcp-param-region');
  expect(world.upstream.seen.length).toBe(before);
  expect((await preflight({ ...asked, origin: 'http://evil.example' })).status).toBe(403);
  expect((await preflight(page)).status, 'another OPTIONS is decided as any method').toBe(405);
});

test('R-117: a page may read a refusal', async () => {
  const response = await fetch(`${world.gateway.url}/mcp`, { method: 'POST', headers: page });
  expect(response.status).toBe(401);
  expect(response.headers.get('access-control-allow-origin')).toBe(page.origin);
  expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
});
