/** Authorization servers as they are: what the gateway takes from them, and what it shows to their clients. */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startIssuer } from '../support/issuer.ts';
import { keepSecret } from '../support/secrecy.ts';
import { sendJson } from '../support/upstream.ts';
import { publicUrl, startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { toolCall } from '../worlds/wire.ts';

const earlier = 'https://sts.example/TENANT/';
const mcp = (name: string, more: string, upstream: string): string =>
  `  - { name: ${name}, path: /${name}, protocol: mcp, ${more}, upstream: { url: "${upstream}/mcp" } }`;

const world = startBeforeAll(() =>
  startWorld({
    yaml: (issuer, upstream) => `
root_resource: tools
oauth_endpoints_at_root: main
authorization_servers:
  main:
    issuer: "${issuer}"
    scope_prefix: "api://tools/"
    audience_claim: client_id
    jwt: { algorithms: [RS256], issuers: ["${earlier}"] }
    introspection: { client_id: gateway, client_secret: secret, cache: 0s }
routes:
${mcp('tools', 'audience: a, policy: tools, resource: { scopes_supported: [read, openid, "other:read"] }', upstream)}
${mcp('more', 'audience: b, resource: { name: More }', upstream)}
  - { name: api, path: /api, audience: a, upstream: { url: "${upstream}" } }
  - name: delegated
    path: /delegated
    audience: a
    upstream:
      url: "${upstream}"
      token: exchange
      exchange: { grant: on_behalf_of, client_id: gateway, client_secret: secret, scope: [https://graph.example/Mail.Read] }
  - { name: rest, path: /, audience: a, upstream: { url: "${upstream}" } }
`,
    policies: { tools: 'scope: read\ntools: { look: {}, pay: { scope: pay } }\n' },
  }),
);

describe('R-289: scope_prefix', () => {
  const metadata = `${publicUrl}/.well-known/oauth-protected-resource/tools`;

  test('R-289: is shown in challenges, data.scope and scopes_supported, and not on scopes of OpenID or full names', async () => {
    const first = await world.post('/tools', undefined, toolCall('look'));
    expect(first.challenge).toBe(
      `Bearer error="invalid_token", scope="api://tools/read", resource_metadata="${metadata}"`,
    );
    const token = await world.token({ scope: 'read' });
    const stepUp = await world.post('/tools', token, toolCall('pay'));
    const wanted = 'api://tools/read api://tools/pay';
    expect(stepUp.challenge).toBe(
      `Bearer error="insufficient_scope", scope="${wanted}", resource_metadata="${metadata}"`,
    );
    expect(JSON.parse(stepUp.text)).toMatchObject({ error: { data: { scope: wanted } } });
    const { text } = await world.send('/.well-known/oauth-protected-resource/tools');
    expect(JSON.parse(text)).toMatchObject({ scopes_supported: ['api://tools/read', 'openid', 'other:read'] });
    expect(await world.gateway.decision({ reason: 'scope.insufficient' })).toMatchObject({ needed_scope: 'read pay' });
  });

  test('R-289: in a token gives nothing', async () => {
    const token = await world.token({ scope: 'api://tools/read api://tools/pay' });
    const { status } = await world.post('/tools', token, toolCall('pay'));
    expect(status).toBe(403);
  });
});

describe('R-290: audience_claim', () => {
  const untyped = { typ: 'JWT' };
  const status = async (claims: Record<string, unknown>): Promise<number> => {
    // Without `aud`, whose member the world adds.
    const token = await world.issuer.sign({ ...claims, jti: Math.random() }, { header: untyped });
    return (await world.send('/api', { token })).status;
  };

  test.each([
    ['token_use', { client_id: 'a', token_use: 'access' }, 200],
    ['scope', { client_id: 'a', scope: 'x' }, 200],
    ['no sign of an access token', { client_id: 'a' }, 401],
    ['an ID token', { client_id: 'a', token_use: 'id', scope: 'x' }, 401],
    ['another client', { client_id: 'b', scope: 'x' }, 401],
    ['another claim', { azp: 'a', scope: 'x' }, 401],
    ['aud of another resource', { client_id: 'a', scope: 'x', aud: 'b' }, 401],
    ['an empty list', { client_id: 'a', scope: 'x', aud: [] }, 401],
    ['null', { client_id: 'a', scope: 'x', aud: null }, 401],
  ])('R-290: stands for an absent aud: %s', async (_title, claims, expected) => {
    expect(await status(claims)).toBe(expected);
  });

  test('R-290: stands for it in an introspection answer too', async () => {
    const opaque = async (claims: Record<string, unknown>): Promise<number> => {
      const token = `opaque-${Math.random()}`;
      world.issuer.introspection.set(token, { active: true, sub: 'alice', ...claims });
      return (await world.send('/api', { token })).status;
    };
    expect(await opaque({ client_id: 'a', scope: 'x' })).toBe(200);
    expect(await opaque({ client_id: 'b', scope: 'x' })).toBe(401);
    expect(await opaque({ client_id: 'a' })).toBe(401);
    expect(await opaque({ client_id: 'a', scope: 'x', aud: [] })).toBe(401);
  });
});

test('R-291: takes a further issuer of the same server for the same issuer, and no other', async () => {
  for (const iss of [world.issuer.url, earlier]) {
    expect((await world.send('/api', { token: await world.token({ iss }) })).status).toBe(200);
    const { issuer } = await world.gateway.decision({ allow: true, route: 'api' });
    expect(issuer).toBe(world.issuer.url);
  }
  for (const iss of [earlier.slice(0, -1), `${earlier}x`, earlier.toUpperCase()]) {
    expect((await world.send('/api', { token: await world.token({ iss }) })).status).toBe(401);
  }
});

test('R-8: serves the metadata of root_resource at the bare well-known path, where several are resources', async () => {
  const { text } = await world.send('/.well-known/oauth-protected-resource');
  expect(JSON.parse(text)).toMatchObject({ resource: `${publicUrl}/tools` });
  expect((await world.send('/.well-known/oauth-protected-resource/more')).status).toBe(200);
});

// test/serve/gateway/server-answers.test.ts has the methods, and the endpoints that are refused.
test('R-292: oauth_endpoints_at_root leads there, with query, body and method kept, before the route at /', async () => {
  const base = 'https://as.example';
  const issuer = await startIssuer();
  issuer.answerAt('/.well-known/oauth-authorization-server', (_request, response) => {
    const endpoints = {
      authorization_endpoint: `${base}/authorize?tenant=x`,
      token_endpoint: `${base}/token`,
      registration_endpoint: `${base}/register`,
    };
    sendJson(response, 200, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...endpoints });
  });
  const other = await startWorld({
    yaml: (_, upstream) => `
oauth_endpoints_at_root: main
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: rest, path: /, audience: a, upstream: { url: "${upstream}" } }
`,
  });
  onTestFinished(async () => void (await Promise.all([other.close(), issuer.close()])));
  const authorize = await other.send('/authorize?state=a%20b&tenant=evil&scope=read');
  expect([authorize.status, authorize.headers.get('location')]).toEqual([
    302,
    `${base}/authorize?tenant=x&state=a+b&scope=read`,
  ]);
  for (const path of ['/token', '/register']) {
    const { status, headers } = await other.send(path, { method: 'POST', body: 'code=x' });
    expect([status, headers.get('location')]).toEqual([307, base + path]);
    expect(headers.get('access-control-allow-origin')).toBe('*');
  }
  expect((await other.send('/token/x')).status).toBe(401);
  expect(other.upstream.seen).toEqual([]);
});

describe('R-293: grant: on_behalf_of', () => {
  let answer: { readonly status: number; readonly body: Record<string, unknown> };
  beforeEach(() => {
    world.issuer.answerAt('/token', (_request, response) => sendJson(response, answer.status, answer.body));
  });
  const granted = { token_type: 'Bearer', scope: 'https://graph.example/Mail.Read', expires_in: 100 };

  test('R-293: sends the token of the caller as the assertion, and takes more scope for no more', async () => {
    const fresh = `of-the-upstream-${createHash('sha256').update(String(Math.random())).digest('hex')}`;
    keepSecret(fresh);
    const scope = `${granted.scope} https://graph.example/Mail.Send`;
    answer = { status: 200, body: { ...granted, access_token: fresh, scope } };
    const token = await world.token({ sub: 'obo-1' });
    expect((await world.send('/delegated/x', { token })).status).toBe(200);
    expect(Object.fromEntries(new URLSearchParams(world.issuer.requestsTo('/token').at(-1)?.body))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: token,
      requested_token_use: 'on_behalf_of',
      scope: 'https://graph.example/Mail.Read',
    });
    expect(world.upstream.seen.at(-1)?.headers['authorization']).toBe(`Bearer ${fresh}`);
  });

  test.each([
    ['less scope', 200, { ...granted, access_token: 'x', scope: 'https://graph.example/User.Read' }, 'exchange.scope'],
    ['interaction_required', 400, { error: 'interaction_required' }, 'authentication.insufficient'],
    ['an ID token alone', 200, { ...granted, id_token: 'x' }, 'exchange.invalid'],
  ])('R-293: refuses %s', async (_title, status, body, reason) => {
    answer = { status, body };
    const token = await world.token({ sub: `obo ${reason}` });
    expect((await world.send('/delegated/x', { token })).status).toBeGreaterThanOrEqual(400);
    expect(await world.gateway.decision({ route: 'delegated', reason })).toMatchObject({ allow: false });
  });

  test('R-293: answers interaction_required by a challenge for another sign-in', async () => {
    answer = { status: 400, body: { error: 'interaction_required' } };
    const token = await world.token({ sub: 'obo without MFA' });
    const { status, challenge } = await world.send('/delegated/x', { token });
    expect([status, challenge]).toEqual([401, 'Bearer error="insufficient_user_authentication"']);
  });
});

test('R-214: names the cause where a token is encrypted', async () => {
  const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM' })).toString('base64url');
  const { status } = await world.send('/api', { token: `${header}..AAAA.AAAA.AAAA` });
  expect(status).toBe(401);
  expect(await world.gateway.decision({ reason: 'token.inactive' })).toMatchObject({
    detail: expect.stringContaining('the token is encrypted (a JWE of five parts)') as unknown,
  });
});
