/**
 * Attacks by a client of the front door: redirects that look like allowed ones, weaker PKCE, floods, tokens of others,
 * and more access than was allowed (RFC 9700, OAuth 2.1).
 *
 * @module
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createAdapter } from '../../src/front-door/adapter.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { exchangeRaw } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient, register, registerClient } from '../worlds/oauth-client.ts';

let client: OAuthClient;

const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: `clients:
    refresh: true
    registration: { redirect_uris: ["http://127.0.0.1:*/**", "http://localhost:*/**", "https://app.example/cb/*"] }`,
  }),
);
beforeAll(async () => {
  client = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
});

/** The status of an authorization request: 303 goes on to consent. */
async function statusOf(uri: string): Promise<number> {
  return (await fetch(oauthClient(world.issuer, client.id, uri).authorizationUrl(), { redirect: 'manual' })).status;
}

// test/front-door/url-pattern.test.ts has the table of URIs.
describe('a redirect URI', () => {
  test('that is refused is named, in the characters of RFC 6749 §5.2, and refuses the whole registration', async () => {
    const uri = 'https://evil.example/"cb\\<ü>';
    const { body } = await register(world.issuer, { redirect_uris: ['https://app.example/cb/1', uri] });
    expect(body).toEqual({
      error: 'invalid_redirect_uri',
      error_description: 'redirect URI https://evil.example/?cb?<?> is not allowed here',
    });
  });

  test.each(['https://app.example/cb/2', 'https://app.example/cb/1?x', 'https://app.example/cb/%31'])(
    '%s that was not registered gets no redirect',
    async (uri) => {
      const web = await registerClient(world.issuer, { redirect_uris: ['https://app.example/cb/1'] });
      const answer = await fetch(oauthClient(world.issuer, web.id, uri).authorizationUrl(), { redirect: 'manual' });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('location')).toBeNull();
    },
  );

  test('on loopback may have another port, and nothing else another', async () => {
    expect(await statusOf('http://127.0.0.1:1234/callback')).toBe(303);
    for (const other of ['http://127.0.0.1:1234/other', 'http://localhost:8976/callback'])
      expect(await statusOf(other), other).toBe(400);
  });
});

test.each([
  ['of another site after sign-out', '/sign-out?post_logout_redirect_uri=https://evil.example/'],
  ['of a provider that is not configured', '/callback/evil?state=x&code=y'],
  ['in the path', '//evil.example/authorize'],
])('no redirect goes to an address %s', async (_what, path) => {
  const answer = await fetch(world.issuer + path, { redirect: 'manual' });
  expect(answer.headers.get('location')).toBeNull();
  expect(await answer.text()).not.toContain('evil.example');
});

// in test/spec/front-door.test.ts: no weaker PKCE, another client, another verifier, a second use.
describe('a refresh token', () => {
  test('opens nothing at the gateway', async () => {
    const { body } = await client.token();
    expect(await world.listTools(body['refresh_token'])).toBe(401);
  });

  test('does nothing for another client, and stays usable for its own', async () => {
    const { body } = await client.token();
    const other = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
    expect((await other.refresh(body['refresh_token'])).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.refresh(body['refresh_token'])).status).toBe(200);
  });

  test('gives no scope that was not allowed, and no other resource', async () => {
    const refreshed = async (more: Record<string, string>) =>
      client.refresh((await client.token()).body['refresh_token'], more);
    expect((await refreshed({ scope: 'read payments' })).body).toMatchObject({ error: 'invalid_scope' });
    expect((await refreshed({ resource: 'https://other.example/' })).body).toMatchObject({ error: 'invalid_target' });
  });
});

describe('a client asks for more', () => {
  test('a code for one resource is not redeemed for another', async () => {
    const { body } = await client.post({ ...(await client.code()), resource: 'https://other.example/mcp' });
    expect(body).toMatchObject({ error: 'invalid_target' });
  });

  test.each([
    ['client_credentials', {}],
    ['password', { username: 'jane', password: 'guess' }],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', { assertion: 'x' }],
  ])('the grant %s does not exist for it', async (grant, more) => {
    const { status, body } = await client.post({ grant_type: grant, ...more });
    expect(status).toBe(400);
    expect(body['access_token']).toBeUndefined();
  });

  test.each(['token', 'code id_token'])('the response type %s gives nothing', async (type) => {
    const { callback } = await client.authorize({ parameters: { response_type: type, nonce: 'n' } });
    const answer = new URLSearchParams([...callback.searchParams, ...new URLSearchParams(callback.hash.slice(1))]);
    expect([answer.has('access_token'), answer.has('error')]).toEqual([false, true]);
  });

  test('no client registers itself as the gateway, or reads and changes registrations', async () => {
    const { body } = await register(world.issuer, { client_id: 'gateway' });
    expect(body['client_id']).not.toBe('gateway');
    expect(body['registration_access_token']).toBeUndefined();
    const { body: own } = await client.token();
    const introspected = await client.post({ token: String(own['access_token']) }, '/introspect');
    expect(introspected.body).toEqual({ active: false });
  });
});

test('the Host of a request changes nothing', async () => {
  const { host } = new URL(world.issuer);
  const head = (name: string): string =>
    `GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: ${name}\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\nConnection: close\r\n\r\n`;
  const body = (answer: string): string => answer.split('\r\n\r\n')[1] ?? '';
  const evil = body(await exchangeRaw(world.issuer, head('evil.example')));
  expect(evil).toContain(`"issuer":"${world.issuer}"`);
  expect(evil).not.toContain('evil.example');
  expect(evil).toBe(body(await exchangeRaw(world.issuer, head(host))));
});

test.each([
  'https://evil.example/token',
  '//evil.example/.well-known/oauth-authorization-server',
  String.raw`/\evil.example/token`,
  '*',
  '',
])('the request target %s is refused before anything of it is believed', async (target) => {
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const head = `${method} ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    const answer = await exchangeRaw(world.issuer, head);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).not.toContain('evil.example');
  }
});

test.each([{ client_name: ['Agent'] }, { grant_types: 'authorization_code' }, { redirect_uris: [{}] }])(
  'a registration with %j is refused as wrong metadata',
  async (members) => {
    const { status, body } = await register(world.issuer, members);
    expect([status, body['error']]).toEqual([400, expect.stringMatching(/^invalid_(?:client_metadata|redirect_uri)$/)]);
  },
);

test('a flood of registrations ends at 10,000, without loss of the first ones', async () => {
  const adapter = createAdapter({
    store: createMemoryStore(Date.now),
    clock: Date.now,
    registrationMs: 60_000,
    tokenKey: 'a key',
    onRevoked: async () => {},
  })('Client');
  const one = (id: string) => adapter.upsert(id, { client_id: id }, 60);
  for (let index = 0; index < 10_000; index += 1) await one(`client-${index}`);
  await expect(one('client-10000')).rejects.toMatchObject({ error: 'temporarily_unavailable' });
  await expect(one('client-0')).resolves.toBeUndefined();
  expect(await adapter.find('client-0')).toEqual({ client_id: 'client-0' });
  await adapter.destroy('client-1');
  await expect(one('client-10000')).resolves.toBeUndefined();
});
