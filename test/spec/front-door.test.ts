/** What the front door promises, shown with real clients, a real OpenID provider and a real gateway. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createBrowser } from '../../demo/browser.ts';
import { keepSecret } from '../support/secrecy.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, register, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const desk =
  '{ name: Desk, client_secret: a-secret-of-the-desk, redirect_uris: ["https://desk.example/callback"], refresh: true }';
keepSecret('a-secret-of-the-desk');
const clients = `clients:
    registration: { redirect_uris: ["http://127.0.0.1:*/**", "https://claude.ai/api/mcp/auth_callback"] }
    registered: { desk: ${desk} }`;
const deskClient = (issuer: string) =>
  oauthClient(issuer, 'desk', 'https://desk.example/callback', { client_secret: 'a-secret-of-the-desk' });

let ahead = 0;
const world = startBeforeAll(() => startFrontDoorWorld({ frontDoor: clients, clock: () => Date.now() + ahead }));
beforeEach(() => {
  world.provider.person = {
    sub: '248289761001',
    claims: { roles: ['trader', 'user'], tid: 'acme', email: 'jane@acme.com' },
  };
});

test('R-231: publishes RFC 8414 and OpenID metadata that name exactly the configured issuer', async () => {
  const [oauth, openid] = await Promise.all(
    ['oauth-authorization-server', 'openid-configuration'].map(async (name) =>
      (await fetch(`${world.issuer}/.well-known/${name}`, { headers: { host: 'evil.example' } })).json(),
    ),
  );
  expect(openid).toEqual(oauth);
  expect(oauth).toMatchObject({
    issuer: world.issuer,
    authorization_endpoint: `${world.issuer}/authorize`,
    token_endpoint: `${world.issuer}/token`,
    registration_endpoint: `${world.issuer}/register`,
    revocation_endpoint: `${world.issuer}/revoke`,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    response_types_supported: ['code'],
    scopes_supported: ['read', 'payments'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
  });
});

test('R-232: answers a registration with every member of the specification', async () => {
  const { status, body } = await register(world.issuer, {
    client_name: 'An agent',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'read',
    token_endpoint_auth_method: 'client_secret_post',
  });
  keepSecret(String(body['client_secret']));
  expect(status).toBe(201);
  expect(body).toEqual({
    client_id: expect.any(String) as unknown,
    client_id_issued_at: expect.any(Number) as unknown,
    client_secret: expect.stringMatching(/^[\w-]{43}$/) as unknown,
    client_secret_expires_at: 0,
    client_name: 'An agent',
    grant_types: ['authorization_code'],
    redirect_uris: ['http://127.0.0.1:8976/callback'],
    post_logout_redirect_uris: [],
    response_types: ['code'],
    scope: 'read payments',
    token_endpoint_auth_method: 'client_secret_post',
    token_endpoint_auth_methods: ['client_secret_post'],
    access_token_ttl: 900,
    require_proof_key: true,
    requires_consent: true,
    default_acr_values: [],
    subject_type: 'public',
    application_type: 'native',
    id_token_signed_response_alg: 'ES256',
    require_auth_time: false,
    dpop_bound_access_tokens: false,
  });
});

test('R-233: gives an opaque token for the resource, with a stable subject and the mapped claims', async () => {
  const client = await registerClient(world.issuer);
  const { body } = await client.token({ parameters: { resource: world.mcpUrl.href } });
  expect(body).toEqual({
    access_token: expect.stringMatching(/^[\w-]{43}$/) as unknown,
    expires_in: 900,
    scope: 'read',
    token_type: 'Bearer',
  });
  expect(await world.listTools(body['access_token'])).toBe(200);
  const first = await world.decision({ allow: true });
  const again = await (await registerClient(world.issuer)).token();
  expect(await world.listTools(again.body['access_token'])).toBe(200);
  const second = await world.decision({ allow: true });
  expect(second['subject']).toBe(first['subject']);
  expect(String(first['subject'])).toMatch(/^[\w-]{43}$/);
  expect(first['issuer']).toBe(world.issuer);
});

test.each([
  ['an unknown one', ['http://other.example/mcp']],
  ['two', ['MCP', 'MCP']],
])('R-234: a resource is refused: %s', async (_title, resources) => {
  const client = await registerClient(world.issuer);
  const url = client.authorizationUrl();
  for (const resource of resources) url.searchParams.append('resource', resource.replace('MCP', world.mcpUrl.href));
  const response = await fetch(url, { redirect: 'manual' });
  const answer = new URL(response.headers.get('location') ?? '');
  expect([answer.origin + answer.pathname, answer.searchParams.get('error')]).toEqual([
    client.redirectUri,
    'invalid_target',
  ]);
  expect(answer.searchParams.get('iss')).toBe(world.issuer);
});

describe('clients as they are', () => {
  const refreshing = () =>
    registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'], client_name: 'Refreshing' });

  test('R-294: any form of the resource names it, in each request of one sign-in', async () => {
    const client = deskClient(world.issuer);
    const { origin, href } = world.mcpUrl;
    for (const [first, second] of [
      [origin, `${href}?utm_source=x`],
      [undefined, `${origin}/`],
      [href, undefined],
    ]) {
      const form = await client.code({ parameters: { resource: first } });
      const { body } = await client.post({ ...form, ...(second !== undefined && { resource: second }) });
      expect(await world.listTools(body['access_token'])).toBe(200);
      const next = await client.refresh(body['refresh_token'], first === undefined ? {} : { resource: first });
      expect(await world.listTools(next.body['access_token'])).toBe(200);
    }
  });

  test.each([
    ['no scope', undefined, 'read'],
    ['scopes that a provider publishes', 'openid profile email offline_access read', 'read'],
    ['only unknown scopes', 'Files.Read', 'invalid_scope'],
  ])('R-294: %s', async (_title, scope, granted) => {
    const client = await registerClient(world.issuer);
    const { callback, verifier } = await client.authorize({ parameters: { scope, prompt: 'consent' } });
    const code = callback.searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri, code_verifier: verifier };
    const { body } = code === '' ? { body: {} as Record<string, unknown> } : await client.post(form);
    expect(callback.searchParams.get('error') ?? body['scope']).toBe(granted);
  });

  test('R-294: two registrations of one client both work', async () => {
    const [first, second] = [await refreshing(), await refreshing()];
    expect(first.id).not.toBe(second.id);
    for (const client of [second, first]) {
      const { body } = await client.token();
      expect(await world.listTools(body['access_token'])).toBe(200);
    }
  });
});

test('R-294: the way back is a page where one of the provider came between, else a redirect', async () => {
  const browser = createBrowser();
  const client = await registerClient(world.issuer);
  const ways: (readonly [referer: string | undefined, status: number])[] = [
    [`${world.issuer}/`, 303],
    [undefined, 200],
    [`${new URL(world.provider.issuer).origin}/`, 200],
  ];
  for (const [referer, status] of ways) {
    const callback = new URL(`${world.issuer}/callback/corporate`);
    const at = await browser.open(client.authorizationUrl(), callback);
    if (at instanceof URL) throw new Error('there is no consent page');
    const back = await browser.open(at.url, callback, new URLSearchParams({ decision: 'approve' }));
    if (!(back instanceof URL)) throw new Error('the provider does not redirect');
    const response = await browser.fetch(back, referer === undefined ? {} : { referer });
    const page = await response.text();
    expect([referer, response.status]).toEqual([referer, status]);
    const resumed = response.headers.get('location') ?? /<a href="([^"]+)"/.exec(page)?.[1] ?? '';
    expect(resumed.startsWith(`${world.issuer}/authorize/`)).toBe(true);
  }
});

test.each([
  ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
  ['the plain method', { code_challenge_method: 'plain' }],
  ['no method', { code_challenge_method: undefined }],
])('R-235: requires PKCE with S256: %s', async (_title, parameters) => {
  expect(await (await registerClient(world.issuer)).errorOf({ parameters })).toBe('invalid_request');
});

test('R-236: the front door names the client and asks for consent before it contacts the provider', async () => {
  const client = await registerClient(world.issuer, { client_name: '<script>alert(1)</script> Agent' });
  const before = world.provider.authorizations.length;
  const browser = createBrowser();
  expect(await client.errorOf({ browser, approve: false })).toBe('access_denied');
  expect(browser.pages).toEqual(['Allow access']);
  expect(world.provider.authorizations.length).toBe(before);
});

test('R-237: remembers consent to a client with a host for its session, and asks for more scope alone', async () => {
  const browser = createBrowser();
  const client = deskClient(world.issuer);
  const pagesOf = async (scope: string): Promise<readonly string[]> => {
    const shown = browser.pages.length;
    await client.token({ browser, parameters: { scope } });
    return browser.pages.slice(shown);
  };
  const signIns = world.provider.authorizations.length;
  expect(await pagesOf('read')).toEqual(['Allow access']);
  expect(await pagesOf('read')).toEqual([]);
  expect(await pagesOf('read payments')).toEqual(['Allow access']);
  // Once for the session, and once since `payments` needs a sign-in of the last five minutes that the provider confirms.
  expect(world.provider.authorizations.length - signIns).toBe(2);
});

test('R-238: asks each time for a client on loopback', async () => {
  const browser = createBrowser();
  const client = await registerClient(world.issuer);
  await client.token({ browser });
  await client.token({ browser });
  expect(browser.pages).toEqual(['Allow access', 'Allow access']);
});

test('R-239: gives a token with a scope of short lifetime that lifetime, and sends max_age to the provider', async () => {
  world.provider.person = { sub: '1', authTime: Math.floor(Date.now() / 1000) - 3600 };
  const client = await registerClient(world.issuer);
  const browser = createBrowser();
  const { body: read } = await client.token({ browser });
  expect(read['expires_in']).toBe(900);
  world.provider.person = { sub: '1' };
  const { body } = await client.token({ browser, parameters: { scope: 'read payments' } });
  expect([body['expires_in'], body['scope']]).toEqual([60, 'read payments']);
  expect(world.provider.authorizations.at(-1)?.get('max_age')).toBe('300');
});

test('R-240: fails closed where the provider does not confirm a recent sign-in', async () => {
  world.provider.person = { sub: '2', authTime: Math.floor(Date.now() / 1000) - 3600 };
  const client = await registerClient(world.issuer);
  expect(await client.errorOf({ parameters: { scope: 'payments' } })).toBe('server_error');
  expect(world.observed.at(-1)).toMatch(/^sign-in corporate failed .*auth/);
});

describe('refresh tokens', () => {
  /** The answers to refreshes of a token with a scope of `max_age: 5m`, while the sign-in is fresh and afterwards. */
  async function refreshedOf(scope: string) {
    world.provider.person = { sub: '3' };
    const client = deskClient(world.issuer);
    const { body } = await client.token({ parameters: { scope } });
    const { body: fresh } = await client.refresh(body['refresh_token']);
    expect(fresh['refresh_token']).not.toBe(body['refresh_token']);
    ahead = 301_000;
    try {
      return { fresh, late: (await client.refresh(fresh['refresh_token'])).body };
    } finally {
      ahead = 0;
    }
  }

  test('R-241: go only to allowed clients, and keep a scope with max_age while the sign-in is that fresh', async () => {
    const { fresh, late } = await refreshedOf('read payments');
    expect([fresh['scope'], late['scope']]).toEqual(['read payments', 'read']);
  });

  test('R-241: end with the freshness of the sign-in where every scope needs it', async () => {
    const { fresh, late } = await refreshedOf('payments');
    expect([fresh['scope'], late['error']]).toEqual(['payments', 'invalid_grant']);
  });

  test('R-241: are used once: a second use ends every token of the family at the gateway too', async () => {
    world.provider.person = { sub: '4' };
    const client = deskClient(world.issuer);
    const { body } = await client.token();
    const { body: second } = await client.refresh(body['refresh_token']);
    expect(await world.listTools(second['access_token'])).toBe(200);
    expect((await client.refresh(body['refresh_token'])).body['error']).toBe('invalid_grant');
    expect(await world.listTools(second['access_token'])).toBe(401);
    expect((await client.refresh(second['refresh_token'])).body['error']).toBe('invalid_grant');
  });

  test('R-241: give one token to two uses at once', async () => {
    const client = deskClient(world.issuer);
    const { body } = await client.token();
    const answers = await Promise.all([1, 2, 3].map(() => client.refresh(body['refresh_token'])));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
  });
});

test('R-242: a revoked token opens nothing at once, although the gateway has cached it', async () => {
  const client = await registerClient(world.issuer);
  const { body } = await client.token();
  expect(await world.listTools(body['access_token'])).toBe(200);
  expect((await client.post({ token: String(body['access_token']) }, '/revoke')).status).toBe(200);
  expect(await world.listTools(body['access_token'])).toBe(401);
});

test('R-242: a client cannot revoke a token of another one', async () => {
  const [one, other] = [await registerClient(world.issuer), await registerClient(world.issuer)];
  const { body } = await one.token();
  await other.post({ token: String(body['access_token']) }, '/revoke');
  expect(await world.listTools(body['access_token'])).toBe(200);
});

test('R-243: a code is used once, by its client, with its redirect URI and verifier', async () => {
  const [one, other] = [await registerClient(world.issuer), await registerClient(world.issuer)];
  const redeem = async (form: Record<string, string>, by = one) => {
    const own = await one.code();
    return [await by.post({ ...own, ...form }), own] as const;
  };
  expect((await redeem({}, other))[0].body['error']).toBe('invalid_grant');
  expect((await redeem({ code_verifier: 'b'.repeat(43) }))[0].body['error']).toBe('invalid_grant');
  const { code_verifier: _, ...unverified } = await one.code();
  expect((await one.post(unverified)).body['error']).toBe('invalid_grant');
  expect((await redeem({ redirect_uri: 'http://127.0.0.1:1/other' }))[0].body['error']).toBe('invalid_grant');
  const [answer, used] = await redeem({});
  expect(await world.listTools(answer.body['access_token'])).toBe(200);
  expect((await one.post(used)).body['error']).toBe('invalid_grant');
  // RFC 6749 §4.1.2: the tokens of a code that is used twice end.
  expect(await world.listTools(answer.body['access_token'])).toBe(401);
});

// test/front-door/url-pattern.test.ts has the table.
test('R-244: refuses to register a redirect URI that only begins like an allowed one', async () => {
  const redirectUri = 'http://127.0.0.1.evil.example/callback';
  const { status, body } = await register(world.issuer, { redirect_uris: [redirectUri] });
  expect([status, body['error']]).toEqual([400, 'invalid_redirect_uri']);
});
