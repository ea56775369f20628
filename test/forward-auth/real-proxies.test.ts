import { beforeAll, expect, test } from 'vitest';
import { describeProxies, startProxyWorld } from '../worlds/proxies.ts';
import { question, type Answer } from './ask.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

describeProxies(['nginx', 'caddy', 'haproxy'], 'with the example in deploy/forward-auth', (program) => {
  let bearer: string;

  const world = startBeforeAll(() => startProxyWorld(program, { yaml: 'trusted_proxies: [127.0.0.1]' }));
  beforeAll(async () => {
    bearer = `Authorization: Bearer ${await world.token()}`;
  });

  const send = (requestLine: string, lines: readonly string[] = [], body = ''): Promise<Answer> =>
    question(world.proxyUrl, requestLine, ['Host: gateway.test', ...lines], body);
  const forwarded = async (requestLine: string, lines: readonly string[] = [], body = '') => {
    const before = world.upstream.seen.length;
    const { status } = await send(requestLine, lines, body);
    return { status, seen: world.upstream.seen.slice(before) };
  };

  test('forwards an allowed request with the identity of the caller and without the token', async () => {
    const { status, seen } = await forwarded('POST /things/%C3%A9?a=1&b=%2F', [bearer, 'X-Mine: kept'], 'hello');
    expect(status).toBe(200);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/things/%C3%A9?a=1&b=%2F', body: 'hello' });
    expect(seen[0]?.headers).toMatchObject({ 'x-auth-subject': 'alice', 'x-mine': 'kept' });
    expect(seen[0]?.headers.authorization ?? '').toBe('');
    expect(seen[0]?.headers['x-auth-client'] ?? '').toBe('');
    expect(seen[0]?.headers['x-request-id']).toBe((await world.gateway.decision())['request_id']);
  });

  test('tells the upstream of a public route about no caller', async () => {
    const { status, seen } = await forwarded('GET /public', [bearer]);
    expect(status).toBe(200);
    expect(seen.map(({ headers }) => [headers['x-auth-subject'] ?? '', headers['x-auth-client'] ?? ''])).toEqual([
      ['', ''],
    ]);
  });

  test('forwards a target in absolute form as its path', async () => {
    const { seen } = await forwarded('GET http://gateway.test/things?a=1', [bearer]);
    expect(seen.map(({ url }) => url)).toEqual(['/things?a=1']);
  });

  test('answers 401 with exactly one challenge', async () => {
    const { status, headers } = await send('GET /things');
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 401, challenge: ['Bearer'] });
    const nonsense = await send('GET /things', ['Authorization: Bearer nonsense']);
    expect(nonsense.headers.get('www-authenticate')).toEqual(['Bearer error="invalid_token"']);
    expect(nonsense.headers.get('x-request-id')).toEqual([(await world.gateway.decision())['request_id']]);
  });

  test('answers 403 with exactly one challenge', async () => {
    const { status, headers } = await send('GET /admin', [bearer]);
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({
      status: 403,
      challenge: ['Bearer error="insufficient_scope", scope="read admin"'],
    });
    expect(world.upstream.seen.filter(({ url }) => url.startsWith('/admin'))).toEqual([]);
  });

  test('passes on the status of other refusals', async () => {
    expect((await send('DELETE /reads', [bearer])).status).toBe(405);
    expect((await send('GET /things', [bearer, 'Origin: http://evil.example'])).status).toBe(403);
  });

  test('keeps the methods HEAD and OPTIONS in its question', async () => {
    expect(await forwarded('HEAD /reads/x', [bearer])).toMatchObject({ status: 200, seen: [{ method: 'HEAD' }] });
    const preflight = ['Origin: http://gateway.test', 'Access-Control-Request-Method: GET'];
    expect(await forwarded('OPTIONS /things', preflight)).toEqual({ status: 401, seen: [] });
  });

  test.each([
    'X-Auth-Subject: mallory',
    'X-Auth-Client: mallory',
    'x-auth-client: a\r\nX-Auth-Client: b',
    'X_Auth_Client: mallory',
    'X-Auth_Subject: mallory',
    'X-Original-URI: /public',
    'X-Original-Method: GET',
    'X-Forwarded-Uri: /mallory',
    'X-Forwarded-Method: MALLORY',
    'X-Forwarded-Host: mallory.example',
    'X-Forwarded-Proto: mallory',
    'X-Forwarded-Prefix: /mallory',
    'X-Forwarded-Port: mallory',
    'Forwarded: for=mallory',
    'X-Real-IP: mallory',
    'X-Request-Id: mallory',
    'X-Forwarded-User: mallory',
    'X-Forwarded-Groups: mallory',
    'Remote-User: mallory',
    'X-Auth-Request-Email: mallory',
    'X-SSL-Client-S-DN: CN=mallory',
    'X-Forwarded-Client-Cert: Subject="CN=mallory"',
    'Impersonate-User: mallory',
    'X-Middleware-Subrequest: mallory',
    'X-HTTP-Method-Override: DELETE',
    'X-Original-URL: /admin',
    'Connection: close, X-Auth-Subject',
    'Connection: close, Authorization',
    'Connection: close, X-Forwarded-Uri, X-Original-URI, X-Forwarded-Method, X-Forwarded-Host',
    'Connection: X-Auth-Client, close\r\nX-Auth-Client: mallory',
  ])('refuses the line %j or forwards the same identity', async (line) => {
    const { status, seen } = await forwarded('GET /things', [bearer, line]);
    expect([200, 400, 401]).toContain(status);
    const foreign = /^x(?:[_-]auth[_-](?!subject$|client$)|_auth|-auth_|-http-|-original-ur)|mallory/i;
    const told = seen.map(({ headers, rawHeaders }) => ({
      subject: headers['x-auth-subject'],
      client: headers['x-auth-client'] ?? '',
      authorization: headers.authorization ?? '',
      // What it nominates, the next proxy would remove (RFC 9110 §7.6.1).
      nominates: /x-|authorization/i.test(headers.connection ?? ''),
      others: rawHeaders.filter((text) => foreign.test(text)),
    }));
    const safe = { subject: 'alice', client: '', authorization: '', nominates: false, others: [] };
    expect(told).toEqual(status === 200 ? [safe] : []);
  });

  test.each([
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
  ])('does not forward %s with a token that lacks the scope', async (target) => {
    const { status, seen } = await forwarded(`GET ${target}`, [bearer]);
    expect([400, 403, 404]).toContain(status);
    expect(seen).toEqual([]);
  });

  test('refuses a request for another host', async () => {
    const { status } = await question(world.proxyUrl, 'GET /public', ['Host: evil.example']);
    expect([400, 403, 421]).toContain(status);
  });

  test('does not forward a request with two tokens', async () => {
    expect((await forwarded('GET /things', [bearer, bearer])).seen).toEqual([]);
  });

  test('forwards MCP and the metadata to the gateway', async () => {
    const metadata = await send('GET /.well-known/oauth-protected-resource/mcp');
    expect(metadata.status).toBe(200);
    const { status, headers } = await send('POST /mcp', ['Content-Type: application/json'], '{}');
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')?.[0]).toContain('/.well-known/oauth-protected-resource/mcp');
  });

  test('forwards nothing while the gateway is down', async () => {
    const other = await forThisTest(startProxyWorld(program));
    await other.gateway.close();
    const { status } = await question(other.proxyUrl, 'GET /public', ['Host: gateway.test', bearer]);
    expect([500, 502, 503]).toContain(status);
    expect(other.upstream.seen).toEqual([]);
  });
});

describeProxies(['haproxy'], 'whose script fails', (program) => {
  test('forwards nothing', async () => {
    const edits = { 'setenv SALLYPORT_AUTHORIZE': 'setenv ANOTHER' };
    const world = await forThisTest(startProxyWorld(program, { edits }));
    const { status } = await question(world.proxyUrl, 'GET /public', ['Host: gateway.test']);
    expect({ status, seen: world.upstream.seen }).toEqual({ status: 503, seen: [] });
  });
});
