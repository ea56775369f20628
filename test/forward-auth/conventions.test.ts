import { createRemoteJWKSet, jwtVerify } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { createProver } from '../support/prover.ts';
import { type Answer, envoy, nginx, question, traefik } from './ask.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

let url: string;
let bearer: string;

const world = startBeforeAll(startForwardAuthWorld);
beforeAll(async () => {
  url = world.gateway.forwardAuthUrl;
  bearer = `Authorization: Bearer ${await world.token({ client_id: 'app' })}`;
});

describe.each([
  ['Traefik and Caddy', traefik],
  ['nginx', nginx],
  ['Envoy', envoy],
])('a question of %s', (_name, ask) => {
  test('is answered with every field for the upstream if the call is allowed', async () => {
    const { status, headers, body } = await ask(url, { target: '/things?a=1', lines: [bearer] });
    expect({ status, body }).toEqual({ status: 200, body: '' });
    expect(headers.get('x-auth-subject')).toEqual(['alice']);
    expect(headers.get('x-auth-client')).toEqual(['app']);
    expect(headers.get('authorization')).toEqual(['']);
    expect(headers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(headers.get('cache-control')).toEqual(['no-store']);
    expect(world.upstream.seen).toEqual([]);
  });

  test('is answered with an empty value for an absent claim, which replaces the client’s own', async () => {
    const lines = [`Authorization: Bearer ${await world.token()}`];
    const { status, headers } = await ask(url, { lines });
    expect(status).toBe(200);
    expect(headers.get('x-auth-client')).toEqual(['']);
  });

  test('is answered with empty values of what other routes say about callers', async () => {
    const { status, headers } = await ask(url, { target: '/public' });
    const told = ['x-auth-subject', 'x-auth-client', 'x-auth-identity'].map((name) => headers.get(name));
    expect({ status, told }).toEqual({ status: 200, told: [[''], [''], ['']] });
  });

  test('is refused with the answer of the gateway to its client', async () => {
    const shown = ({ status, headers }: Answer) => [
      status,
      ...['www-authenticate', 'content-type', 'content-length'].map((name) => headers.get(name)),
    ];
    for (const [method, target, lines] of [
      ['GET', '/things', []],
      ['GET', '/things', ['Authorization: Bearer nonsense']],
      ['GET', '/admin', [bearer]],
      ['POST', '/mcp', []],
    ] as const) {
      const asked = await ask(url, { method, target, lines });
      const direct = await question(world.gateway.url, `${method} ${target}`, ['Host: gateway.test', ...lines]);
      expect(shown(asked)).toEqual(shown(direct));
    }
    const { headers } = await ask(url, { method: 'POST', target: '/mcp' });
    expect(headers.get('www-authenticate')).toEqual([
      'Bearer error="invalid_token", scope="read", resource_metadata="http://gateway.test/.well-known/oauth-protected-resource/mcp"',
    ]);
  });

  test('is about the method that the client used', async () => {
    expect((await ask(url, { method: 'HEAD', target: '/reads', lines: [bearer] })).status).toBe(200);
    const refused = await ask(url, { method: 'DELETE', target: '/reads', lines: [bearer] });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, ['GET, HEAD']]);
  });

  test('is answered with the client’s token if the upstream gets it', async () => {
    const { headers } = await ask(url, { target: '/reads', lines: [bearer] });
    expect(headers.get('authorization')).toEqual([bearer.replace('Authorization: ', '')]);
  });

  test('is answered with the signed identity', async () => {
    const { headers } = await ask(url, { target: '/signed', lines: [bearer] });
    const keys = createRemoteJWKSet(new URL(`${world.gateway.url}/.well-known/sallyport-jwks.json`));
    const { payload } = await jwtVerify(headers.get('x-auth-identity')?.[0] ?? '', keys, { audience: 'them' });
    expect(payload.sub).toBe('alice');
  });

  test('is logged as the call that it is about', async () => {
    await ask(url, { method: 'PUT', target: '/things?secret=1', lines: [bearer] });
    await world.gateway.decision({ route: 'api', allow: true, method: 'PUT' });
    await expect
      .poll(() => world.gateway.metrics())
      .toMatch(/sallyport_requests_total\{route="api",method="PUT",status="200"\}/);
  });

  test('is refused about paths that only the gateway serves', async () => {
    const { status } = await ask(url, { target: '/.well-known/oauth-protected-resource/mcp' });
    expect(status).toBe(401);
  });

  test('is refused about a preflight, because the proxy would forward it', async () => {
    const lines = ['Origin: http://gateway.test', 'Access-Control-Request-Method: GET'];
    expect((await ask(url, { method: 'OPTIONS', lines })).status).toBe(401);
  });

  test('is refused about another host or origin', async () => {
    expect((await ask(url, { host: 'evil.example', lines: [bearer] })).status).toBe(403);
    expect((await ask(url, { lines: [bearer, 'Origin: http://evil.example'] })).status).toBe(403);
  });

  // test/attacks/upgrade-smuggling.test.ts has upgrades to other protocols.
  test('is refused about TRACE and CONNECT', async () => {
    expect((await ask(url, { method: 'TRACE', lines: [bearer] })).status).toBe(405);
    expect((await ask(url, { method: 'CONNECT', lines: [bearer] })).status).toBe(400);
  });

  test('is allowed about an upgrade only if the route has upgrades', async () => {
    const lines = [bearer, 'Connection: Upgrade, close', 'Upgrade: websocket'];
    expect((await ask(url, { lines })).status).toBe(400);
    await world.gateway.decision({ reason: 'route.upgrade' });
  });
});

// test/capabilities/forward-auth/original-request.test.ts has the table of questions, test/core/gateway/route/target.test.ts that of paths.
test.each([
  'x_auth_subject: mallory',
  'MCP_Name: x',
  'X-HTTP-Method-Override: DELETE',
  'X-Rewrite-URL: /admin',
  'X-Remote-User: mallory',
  'X_Forwarded_Email: mallory',
  'X-Forwarded-Tls-Client-Cert-Info: Subject="CN=mallory"',
  'SSL-Client-Verify: SUCCESS',
  'X-Client-Verify: SUCCESS',
  'X-Middleware-Subrequest: middleware',
])('a client’s own %s is refused, because the proxy would forward it', async (line) => {
  const { status } = await nginx(url, { lines: [bearer, line] });
  expect(status).toBe(400);
  await world.gateway.decision({ reason: 'forward_auth.request' });
});

describe('a question', () => {
  const authorize = '/_sallyport/authorize';
  const whole = ['X-Forwarded-Method: GET', 'X-Forwarded-Uri: /public', 'X-Forwarded-Host: gateway.test'];

  test('is refused from Envoy without its method or path', async () => {
    expect((await question(url, `GET ${authorize}/../public`, ['Host: gateway.test'])).status).toBe(400);
    expect((await question(url, `GET ${authorize}//public`, ['Host: gateway.test'])).status).toBe(400);
    expect((await question(url, `GET ${authorize}/public`, ['Host: gateway.test'])).status).toBe(200);
  });

  test('is not answered at the public listener', async () => {
    const { status } = await question(world.gateway.url, `GET ${authorize}`, ['Host: gateway.test', ...whole]);
    expect(status).toBe(401);
  });

  test('is refused from a peer that may not ask', async () => {
    const forwardAuth = ', trusted: [10.0.0.0/8]';
    const { gateway: other } = await forThisTest(
      startForwardAuthWorld({ forwardAuth, yaml: 'trusted_proxies: [127.0.0.1]' }),
    );
    const { status } = await question(other.forwardAuthUrl, `GET ${authorize}`, ['Host: gateway.test', ...whole]);
    expect(status).toBe(403);
    await other.decision({ reason: 'forward_auth.peer' });
  });

  test('answers malformed bytes and keeps listening', async () => {
    expect((await question(url, 'GET', [])).status).toBe(400);
    expect((await traefik(url, { target: '/public' })).status).toBe(200);
  });
});

describe('an MCP message', () => {
  const message = (name: string, args: unknown = {}): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } });
  let lines: readonly string[];
  beforeAll(async () => {
    const audience = 'http://gateway.test/mcp';
    lines = [`Authorization: Bearer ${await world.token({ aud: audience })}`, 'Content-Type: application/json'];
  });
  const mcp = (body: string | undefined, more: readonly string[] = []) => ({
    method: 'POST',
    target: '/mcp',
    lines: [...lines, ...more],
    ...(body !== undefined && { body }),
  });

  test.each([
    ['Traefik with forwardBody', traefik],
    ['Envoy with with_request_body', envoy],
  ])('is decided by its content if %s sends it', async (_name, ask) => {
    expect((await ask(url, mcp(message('get_price')))).status).toBe(200);
    const stepUp = await ask(url, mcp(message('pay')));
    expect(stepUp.status).toBe(403);
    expect(stepUp.headers.get('www-authenticate')?.[0]).toContain('scope="read payments"');
    expect(JSON.parse(stepUp.body)).toMatchObject({ id: 7, error: { data: { reason: 'scope.insufficient' } } });
    // No tool result with 200, which the proxy would take for a permission: the route has `refusals: { final: tool_error }`.
    expect((await ask(url, mcp(message('drop_tables')))).status).toBe(403);
    expect((await ask(url, mcp('[{}]'))).status).toBe(400);
    expect((await ask(url, mcp(`{"method":"tools/call",${message('pay').slice(1)}`))).status).toBe(400);
  });

  test.each([
    ['nginx', nginx],
    ['Caddy', traefik],
    ['Envoy without with_request_body', envoy],
  ])('is refused from every caller if %s does not send it', async (_name, ask) => {
    const { status, headers, body } = await ask(url, mcp(undefined));
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 403, challenge: undefined });
    expect(JSON.parse(body)).toMatchObject({ error: { data: { reason: 'forward_auth.body' } } });
  });

  test('is refused if the proxy sends only a part, even if the part is a message', async () => {
    const { body } = await envoy(url, mcp(message('get_price'), ['x-envoy-auth-partial-body: true']));
    expect(JSON.parse(body)).toMatchObject({ error: { data: { reason: 'body.incomplete' } } });
  });

  test('is refused over the size limit', async () => {
    expect((await envoy(url, mcp(message('get_price', 'x'.repeat(1_100_000))))).status).toBe(413);
  });

  test('is refused with a session or a handle, which no gateway bound to its owner', async () => {
    for (const [line, reason] of [
      ['Mcp-Session-Id: 1234', 'session.unknown'],
      ['Last-Event-ID: 1', 'handle.unknown'],
    ] as const) {
      const { status, body } = await envoy(url, mcp(message('get_price'), [line]));
      expect(status).toBe(404);
      expect(JSON.parse(body)).toMatchObject({ error: { data: { reason } } });
    }
    const params = { name: 'get_price', requestState: 'theirs', inputResponses: {} };
    const state = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect((await envoy(url, mcp(state))).status).not.toBe(200);
  });

  test.each(['GET', 'DELETE'])('is refused if it is a %s, which has to pass through the gateway', async (method) => {
    const { status, headers } = await envoy(url, { method, target: '/mcp', lines });
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: ['POST'] });
  });
});

test('counts refused tokens by the address that the proxy forwards', async () => {
  const { gateway } = await forThisTest(
    startWorld({
      top: 'forward_auth: { listen: "127.0.0.1:0" }\nlimits: { failures: { requests: 2, per: 1m } }',
      server: 'introspection: { client_id: gateway, client_secret: s3cr3t }',
      routes: ['name: api, path: /, audience: a, upstream: { url: "UPSTREAM" }'],
    }),
  );
  const statuses: number[] = [];
  for (const [n, from] of ['192.0.2.66', '192.0.2.66', '192.0.2.66', '192.0.2.77'].entries()) {
    const fields = ['Host: x', 'X-Forwarded-Method: GET', 'X-Forwarded-Uri: /', 'X-Forwarded-Host: gateway.test'];
    const lines = [...fields, `X-Forwarded-For: ${from}`, `Authorization: Bearer guess-${n}`];
    statuses.push((await question(gateway.forwardAuthUrl, 'GET /_sallyport/authorize', lines)).status);
  }
  expect(statuses).toEqual([401, 401, 429, 401]);
});

test('checks a proof of possession against the client’s method and URL', async () => {
  const prover = await createProver();
  const token = await world.token({ cnf: prover.cnf });
  const proofFor = async (method: string): Promise<readonly string[]> => {
    const shown = await prover.headers({ url: 'http://gateway.test/bound/x', method, token });
    return Object.entries(shown).map(([name, value]) => `${name}: ${value}`);
  };
  const asked = { method: 'PUT', target: '/bound/x?a=1' };
  const lines = await proofFor('PUT');
  expect((await nginx(url, { ...asked, lines })).status).toBe(200);
  expect((await nginx(url, { ...asked, lines })).status).toBe(401);
  expect((await nginx(url, { ...asked, lines: await proofFor('GET') })).status).toBe(401);
});

describe('approvals', () => {
  const world = startBeforeAll(() =>
    startWorld({
      top: 'forward_auth: { listen: "127.0.0.1:0" }\napprovals: { authorization_servers: [main] }',
      routes: ['name: api, path: /, audience: a, policy: api, upstream: { url: "UPSTREAM" }'],
      policies: {
        api: `requests:
  'POST /pay': { approval: { by: {}, self: true } }
  'POST /refund': { approval: { when: { claims: { role: agent } }, by: {} } }
`,
      },
    }),
  );
  const ask = async (by: typeof traefik, method: string, target: string): Promise<Answer> =>
    by(world.gateway.forwardAuthUrl, {
      method,
      target,
      lines: [`Authorization: Bearer ${await world.token({ role: 'person' })}`],
    });

  test('are not asked for a request whose body is not shown', async () => {
    for (const by of [traefik, nginx, envoy]) {
      const { status, body } = await ask(by, 'POST', '/pay');
      expect([status, JSON.parse(body)]).toEqual([415, expect.objectContaining({ reason: 'approval.body' })]);
    }
    expect((await ask(traefik, 'POST', '/refund')).status).toBe(200);
  });
});
