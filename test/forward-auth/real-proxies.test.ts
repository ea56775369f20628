import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, question } from './ask.ts';
import { isInstalled, startProxy, type Proxy } from '../worlds/proxies.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import type { World } from '../worlds/gateway.ts';

describe.each([
  ['nginx', '-v'],
  ['caddy', 'version'],
  ['haproxy', '-v'],
] as const)('%s with the example in deploy/forward-auth', (program, versionFlag) => {
  const installed = isInstalled(program, versionFlag);
  let world: World;
  let proxy: Proxy;
  let bearer: string;

  beforeAll(async () => {
    if (!installed) return;
    world = await startForwardAuthWorld({ yaml: 'trusted_proxies: [127.0.0.1]' });
    proxy = await startProxy(program, world);
    bearer = `Authorization: Bearer ${await world.token()}`;
  });
  afterAll(async () => {
    if (!installed) return;
    await proxy.close();
    await world.close();
  });

  const send = (requestLine: string, lines: readonly string[] = [], body = ''): Promise<Answer> =>
    question(proxy.url, requestLine, ['Host: gateway.test', ...lines], body);
  const forwarded = async (requestLine: string, lines: readonly string[] = [], body = '') => {
    const before = world.upstream.seen.length;
    const { status } = await send(requestLine, lines, body);
    return { status, seen: world.upstream.seen.slice(before) };
  };

  test.runIf(installed)('forwards what may pass, with the identity and without the token', async () => {
    const { status, seen } = await forwarded('POST /things/%C3%A9?a=1&b=%2F', [bearer, 'X-Mine: kept'], 'hello');
    expect(status).toBe(200);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/things/%C3%A9?a=1&b=%2F', body: 'hello' });
    expect(seen[0]?.headers).toMatchObject({ 'x-auth-subject': 'alice', 'x-mine': 'kept' });
    expect(seen[0]?.headers.authorization ?? '').toBe('');
    expect(seen[0]?.headers['x-auth-client'] ?? '').toBe('');
    expect(seen[0]?.headers['x-request-id']).toBe((await world.gateway.decision())['request_id']);
  });

  test.runIf(installed)('answers a 401 with the challenge, once', async () => {
    const { status, headers } = await send('GET /things');
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 401, challenge: ['Bearer'] });
    const nonsense = await send('GET /things', ['Authorization: Bearer nonsense']);
    expect(nonsense.headers.get('www-authenticate')).toEqual(['Bearer error="invalid_token"']);
    expect(nonsense.headers.get('x-request-id')).toEqual([(await world.gateway.decision())['request_id']]);
  });

  test.runIf(installed)('answers a 403 with the challenge, once', async () => {
    const { status, headers } = await send('GET /admin', [bearer]);
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({
      status: 403,
      challenge: ['Bearer error="insufficient_scope", scope="read admin"'],
    });
    expect(world.upstream.seen.filter(({ url }) => url.startsWith('/admin'))).toEqual([]);
  });

  test.runIf(installed)('answers other refusals with their own status', async () => {
    expect((await send('DELETE /reads', [bearer])).status).toBe(405);
    expect((await send('GET /things', [bearer, 'Origin: http://evil.example'])).status).toBe(403);
  });

  test.runIf(installed)('asks about HEAD and OPTIONS as what they are', async () => {
    expect(await forwarded('HEAD /reads/x', [bearer])).toMatchObject({ status: 200, seen: [{ method: 'HEAD' }] });
    const preflight = ['Origin: http://gateway.test', 'Access-Control-Request-Method: GET'];
    expect(await forwarded('OPTIONS /things', preflight)).toEqual({ status: 401, seen: [] });
  });

  test
    .runIf(installed)
    .each([
      'X-Auth-Subject: mallory',
      'X-Auth-Client: mallory',
      'x-auth-client: a\r\nX-Auth-Client: b',
      'X_Auth_Client: mallory',
      'X-Auth_Subject: mallory',
      'X-Original-URI: /public',
      'X-Original-Method: GET',
      'X-Forwarded-Uri: /public',
      'X-Forwarded-Method: GET',
      'X-Forwarded-Host: evil.example',
      'X-HTTP-Method-Override: DELETE',
      'X-Original-URL: /admin',
      'Connection: close, X-Auth-Subject',
      'Connection: close, Authorization',
      'Connection: close, X-Forwarded-Uri, X-Original-URI, X-Forwarded-Method, X-Forwarded-Host',
      'Connection: X-Auth-Client, close\r\nX-Auth-Client: mallory',
    ])('%j changes nothing, or lets nothing pass', async (line) => {
    const { status, seen } = await forwarded('GET /things', [bearer, line]);
    expect([200, 400, 401]).toContain(status);
    const foreign = /^x(?:[_-]auth[_-](?!subject$|client$)|_auth|-auth_|-http-|-original-url)/i;
    const told = seen.map(({ headers, rawHeaders }) => ({
      subject: headers['x-auth-subject'],
      client: headers['x-auth-client'] ?? '',
      authorization: headers.authorization ?? '',
      others: rawHeaders.filter((name, at) => at % 2 === 0 && foreign.test(name)),
    }));
    const safe = { subject: 'alice', client: '', authorization: '', others: [] };
    expect(told).toEqual(status === 200 ? [safe] : []);
  });

  test
    .runIf(installed)
    .each([
      '/public/../admin',
      '/public/%2e%2e/admin',
      '/public/..%2fadmin',
      '/public/..;/admin',
      '/public;x/../admin',
      '//admin',
      '/public//../admin',
      '/%61dmin',
      '/Admin',
      '/public/..\\admin',
      '/mcp/../admin',
      '/mcp/%2e%2e/admin',
      '/.well-known/oauth-protected-resource/../../admin',
      '/_sallyport/../admin',
      'http://gateway.test/public/../admin',
    ])('%s reaches nothing, with a token that may not have it', async (target) => {
    const { status, seen } = await forwarded(`GET ${target}`, [bearer]);
    expect([400, 403, 404]).toContain(status);
    expect(seen).toEqual([]);
  });

  test.runIf(installed)('a request for another host passes nothing', async () => {
    const { status } = await question(proxy.url, 'GET /public', ['Host: evil.example']);
    expect([400, 403, 421]).toContain(status);
  });

  test.runIf(installed)('two tokens pass nothing', async () => {
    expect((await forwarded('GET /things', [bearer, bearer])).seen).toEqual([]);
  });

  test.runIf(installed)('leaves MCP and the metadata to the gateway', async () => {
    const metadata = await send('GET /.well-known/oauth-protected-resource/mcp');
    expect(metadata.status).toBe(200);
    const { status, headers } = await send('POST /mcp', ['Content-Type: application/json'], '{}');
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')?.[0]).toContain('/.well-known/oauth-protected-resource/mcp');
  });

  test.runIf(installed)('passes nothing while nobody answers its questions', async () => {
    const other = await startForwardAuthWorld();
    onTestFinished(async () => {
      await Promise.all([other.issuer.close(), other.upstream.close()]);
    });
    const lonely = await startProxy(program, other);
    onTestFinished(() => lonely.close());
    await other.gateway.close();
    const { status } = await question(lonely.url, 'GET /public', ['Host: gateway.test', bearer]);
    expect([500, 502, 503]).toContain(status);
    expect(other.upstream.seen).toEqual([]);
  });
});

test.runIf(isInstalled('haproxy', '-v'))('haproxy passes nothing when its script fails', async () => {
  const world = await startForwardAuthWorld();
  onTestFinished(() => world.close());
  const proxy = await startProxy('haproxy', world, { 'setenv SALLYPORT_AUTHORIZE': 'setenv ANOTHER' });
  onTestFinished(() => proxy.close());
  const { status } = await question(proxy.url, 'GET /public', ['Host: gateway.test']);
  expect({ status, seen: world.upstream.seen }).toEqual({ status: 503, seen: [] });
});
