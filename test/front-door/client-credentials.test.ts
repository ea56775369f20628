/** Clients that get tokens of their own, by a secret or by a key. No person signs in. */
import { openStore } from '../../src/capabilities/all.ts';
import { randomUUID } from 'node:crypto';
import { ClientCredentialsProvider, Client, PrivateKeyJwtProvider } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  ClientCredentialsProvider as ClientCredentialsProviderV1,
  PrivateKeyJwtProvider as PrivateKeyJwtProviderV1,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { exportPKCS8 } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { createKey, generateKey, type Issuer, type IssuerKey, startIssuer } from '../support/issuer.ts';
import { createProver } from '../support/prover.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { type FrontDoorWorld, observerInto, startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient } from '../worlds/oauth-client.ts';

const secret = 'the-secret-of-the-report-job';
keepSecret(secret);
/** Publishes the keys of the client `signer`. */
const keys = startBeforeAll(() => startIssuer());
const frontDoor = () => `clients:
    registration: { redirect_uris: ["http://127.0.0.1:*/**"] }
    registered:
      report:
        client_secret: ${secret}
        grants: [client_credentials]
        scopes: [read, write]
        claims: { role: reporter, level: 3, night: true, teams: [a, b] }
      signer:
        grants: [client_credentials]
        client_auth: private_key_jwt
        jwks_uri: ${keys.url}/jwks
        scopes: [read]
        claims: { role: reporter }
      both:
        client_secret: ${secret}-2
        grants: [authorization_code, client_credentials, refresh_token]
        redirect_uris: ["http://127.0.0.1:*/callback"]
        scopes: [read]
      desk: { client_secret: ${secret}-3, redirect_uris: ["http://127.0.0.1:*/callback"] }`;
const scopes = '{ read: { title: Read }, write: { title: Write, lifetime: 60s }, admin: { title: Administer } }';
const policy = 'scope: read\nclaims: { role: reporter }\ntools:\n  list_*: {}\n';
const options = () => ({ frontDoor: frontDoor(), scopes, policy, top: 'revocation: {}' });
const world = startBeforeAll(() => startFrontDoorWorld(options()));
beforeEach(() => void (world.observed as string[]).splice(0));

const report = (at: Pick<FrontDoorWorld, 'issuer'> = world) =>
  oauthClient(at.issuer, 'report', undefined, { client_secret: secret });
const ask = (client: OAuthClient, form: Record<string, string> = {}) =>
  client.post({ grant_type: 'client_credentials', ...form });

/** An assertion of the client `signer`; undefined leaves a claim out. */
async function assertion(claims: Record<string, unknown> = {}, key?: IssuerKey, audience = world.issuer) {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: 'signer', sub: 'signer', aud: audience, jti: randomUUID(), iat: now, exp: now + 60, ...claims };
  return keys.sign(all, { header: { typ: 'JWT' }, ...(key !== undefined && { key }) });
}
async function askByKey(jwt: string, form: Record<string, string> = {}, issuer = world.issuer) {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: jwt,
    ...form,
  });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('the official client gets a token by', () => {
  const connect = async (authProvider: ClientCredentialsProvider | PrivateKeyJwtProvider) => {
    const client = new Client({ name: 'job', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(world.mcpUrl, { authProvider }));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  };

  test('its secret, and calls tools as itself', async () => {
    const expectedIssuer = world.issuer;
    const provider = new ClientCredentialsProvider({ clientId: 'report', clientSecret: secret, expectedIssuer });
    expect(await connect(provider)).toContain('list_accounts');
    const caller = { issuer: world.issuer, subject: 'report', client_id: 'report' };
    expect(await world.decision({ allow: true })).toMatchObject(caller);
    expect(world.observed).toEqual(['token client_credentials ok']);
  });

  test('its key', async () => {
    const privateKey = await exportPKCS8(keys.key.privateKey);
    const about = { clientId: 'signer', privateKey, algorithm: 'RS256', expectedIssuer: world.issuer };
    expect(await connect(new PrivateKeyJwtProvider(about))).toContain('list_accounts');
    expect(await world.decision({ allow: true })).toMatchObject({ subject: 'signer', client_id: 'signer' });
  });
});

describe('the official client of version 1 gets a token by', () => {
  const connect = async (authProvider: OAuthClientProvider) => {
    const client = new ClientV1({ name: 'job', version: '1' });
    await client.connect(new TransportV1(world.mcpUrl, { authProvider }));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  };

  test('its secret', async () => {
    const about = { clientId: 'report', clientSecret: secret, expectedIssuer: world.issuer };
    expect(await connect(new ClientCredentialsProviderV1(about))).toContain('list_accounts');
    expect(await world.decision({ allow: true })).toMatchObject({ subject: 'report', client_id: 'report' });
  });

  test('its key', async () => {
    const privateKey = await exportPKCS8(keys.key.privateKey);
    const about = { clientId: 'signer', privateKey, algorithm: 'RS256', expectedIssuer: world.issuer };
    expect(await connect(new PrivateKeyJwtProviderV1(about))).toContain('list_accounts');
    expect(await world.decision({ allow: true })).toMatchObject({ subject: 'signer', client_id: 'signer' });
  });
});

describe('the token of a client', () => {
  test.each<[asked: string | undefined, granted: string, lifetime: number]>([
    [undefined, 'read write', 60],
    ['read', 'read', 900],
    ['read admin', 'read', 900],
    ['write read unknown openid', 'read write', 60],
  ])('has of the scopes %j those that it may have: %s', async (scope, granted, lifetime) => {
    expect(await ask(report(), scope === undefined ? {} : { scope })).toEqual({
      status: 200,
      body: { access_token: expect.any(String), token_type: 'Bearer', scope: granted, expires_in: lifetime },
    });
  });

  test('is refused where no scope is left, or for another resource', async () => {
    for (const scope of ['admin', 'openid', 'unknown'])
      expect((await ask(report(), { scope })).body).toMatchObject({ error: 'invalid_scope' });
    const resource = 'https://other.example/mcp';
    expect((await ask(report(), { resource })).body).toMatchObject({ error: 'invalid_target' });
  });

  test.each(['opaque', 'jwt'] as const)('says who it is for, and its constant claims: %s', async (format) => {
    const own = await forThisTest(
      startFrontDoorWorld({
        ...options(),
        frontDoor: `${frontDoor()}\n  tokens: { format: ${format} }`,
        top: 'log: { claims: [role, level, night, teams] }',
      }),
    );
    const { body } = await ask(report(own), { resource: own.mcpUrl.href });
    expect(await own.listTools(body['access_token'])).toBe(200);
    expect(await own.decision()).toMatchObject({
      subject: 'report',
      client_id: 'report',
      claims: { role: 'reporter', level: 3, night: true, teams: '["a","b"]' },
    });
  });

  test('is bound to the key of the client, if it proves one', async () => {
    const prover = await createProver();
    const dpop = await prover.proof({ url: `${world.issuer}/token`, method: 'POST' });
    const { body } = await report().post({ grant_type: 'client_credentials' }, '/token', { dpop });
    expect(body['token_type']).toBe('DPoP');
    expect(await world.listTools(body['access_token'])).toBe(401);
  });

  test('ends when the client revokes it, and when an operator ends the client', async () => {
    const [one, other] = [(await ask(report())).body, (await ask(report())).body];
    expect(await world.listTools(one['access_token'])).toBe(200);
    await report().post({ token: String(one['access_token']) }, '/revoke');
    expect(await world.listTools(one['access_token'])).toBe(401);
    expect(await world.listTools(other['access_token'])).toBe(200);
    const ended = await world.gateway.kept?.revoke({ issuer: world.issuer, subject: 'report' });
    expect(ended).toMatchObject([{ isKnownIssuer: true, blocks: false }]);
    expect(await world.listTools(other['access_token'])).toBe(401);
    // A token of the same second is revoked too: other tests want later ones.
    await expect.poll(async () => world.listTools((await ask(report())).body['access_token'])).toBe(200);
  });

  test('is not active once the client is removed from the configuration', async () => {
    const own = await forThisTest(startFrontDoorWorld(options()));
    const { body } = await ask(report(own));
    const registered = new Map([...own.config.frontDoor.clients.registered].filter(([id]) => id !== 'report'));
    own.frontDoor.reload(own.configWith({ clients: { ...own.config.frontDoor.clients, registered } }));
    expect(await own.listTools(body['access_token'])).toBe(401);
  });
});

describe('a client that is registered', () => {
  test('for people too gets both kinds of tokens, and no refresh token of its own', async () => {
    const both = oauthClient(world.issuer, 'both', 'http://127.0.0.1:8976/callback', { client_secret: `${secret}-2` });
    expect((await ask(both)).body).not.toHaveProperty('refresh_token');
    expect((await both.token()).body).toHaveProperty('refresh_token');
  });

  test('for people alone, registers itself, or has no redirect URI gets no token of another kind', async () => {
    const desk = oauthClient(world.issuer, 'desk', undefined, { client_secret: `${secret}-3` });
    expect((await ask(desk)).body).toMatchObject({ error: 'invalid_request' });
    const response = await fetch(`${world.issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: ['http://127.0.0.1:1/callback'],
        grant_types: ['authorization_code', 'client_credentials'],
      }),
    });
    expect(await response.json()).toMatchObject({ grant_types: ['authorization_code'] });
    const { status } = await fetch(report().authorizationUrl(), { redirect: 'manual' });
    expect(status).toBe(400);
  });

  test('must prove its secret', async () => {
    for (const wrong of ['guessed', ''])
      expect((await ask(oauthClient(world.issuer, 'report', undefined, { client_secret: wrong }))).status).toBe(401);
  });
});

describe('an assertion of a client', () => {
  const now = Math.floor(Date.now() / 1000);
  test('counts for the issuer or the token endpoint, once', async () => {
    for (const aud of [world.issuer, `${world.issuer}/token`, [world.issuer, 'https://other.example']]) {
      const jwt = await assertion({ aud });
      expect((await askByKey(jwt)).status).toBe(200);
      expect(await askByKey(jwt), 'again').toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    }
  });

  test.each<[title: string, claims: Record<string, unknown>]>([
    ['without exp', { exp: undefined }],
    ['that has expired', { exp: now - 10 }],
    ['that lives for more than a day', { exp: now + 90_000 }],
    ['without jti', { jti: undefined }],
    ['for another audience', { aud: 'https://other.example' }],
    ['for another endpoint of the front door', { aud: 'REVOKE' }],
    ['of another client', { iss: 'report' }],
  ])('is refused %s', async (_title, claims) => {
    const aud = claims['aud'] === 'REVOKE' ? { aud: `${world.issuer}/revoke` } : {};
    const { body } = await askByKey(await assertion({ ...claims, ...aud }));
    expect(body).toMatchObject({ error: 'invalid_client' });
  });

  test('is refused by a key that the client does not publish', async () => {
    const { body } = await askByKey(await assertion({}, await createKey('k1')));
    expect(body).toMatchObject({ error: 'invalid_client' });
  });

  test('is refused where the keys answer by a redirect', async () => {
    const away = await forThisTest(redirecting(keys));
    const own = await forThisTest(
      startFrontDoorWorld({ ...options(), frontDoor: frontDoor().replace(`${keys.url}/jwks`, `${away.url}/moved`) }),
    );
    const { status } = await askByKey(await assertion({}, undefined, own.issuer), {}, own.issuer);
    expect(status).toBe(401);
  });

  test.each(['RS512', 'PS384', 'ES256', 'ES384', 'ES512', 'Ed25519'])('counts with %s', async (alg) => {
    const key = await generateKey(`own ${alg}`, alg);
    const issuer = await forThisTest(startIssuer(0, key));
    const own = await forThisTest(
      startFrontDoorWorld({ ...options(), frontDoor: frontDoor().replace(keys.url, issuer.url) }),
    );
    expect((await askByKey(await assertion({}, key, own.issuer), {}, own.issuer)).status).toBe(200);
  });

  test('by unknown keys, many at once, asks for the keys once', async () => {
    const issuer = await forThisTest(startIssuer(0, await generateKey('old', 'ES256')));
    const own = await forThisTest(
      startFrontDoorWorld({ ...options(), frontDoor: frontDoor().replace(keys.url, issuer.url) }),
    );
    const forged = await generateKey('forged', 'ES256');
    const flood = Array.from({ length: 20 }, async () =>
      askByKey(
        await issuer.sign({ iss: 'signer', sub: 'signer', aud: own.issuer, jti: randomUUID() }, { key: forged }),
        {},
        own.issuer,
      ),
    );
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([401]));
    expect(issuer.requestsTo('/jwks').length).toBe(1);
  });
});

/** A server that leads to the keys by a redirect. */
async function redirecting(to: Issuer): Promise<Issuer> {
  const server = await startIssuer(0, await generateKey('other', 'ES256'));
  server.answerAt('/moved', (_request, response) => response.writeHead(302, { location: `${to.url}/jwks` }).end());
  return server;
}

test.runIf(hasRedis)('an assertion of a client counts once over all replicas', async () => {
  const redis = await forThisTest(startRedis());
  const top = `session_key: k3y-of-at-least-thirty-two-characters\nshared: ${redis.url}`;
  const one = await forThisTest(startFrontDoorWorld({ ...options(), top }));
  const replica = one.configWith({ listen: { host: '127.0.0.1', port: 0 } });
  const parts = { openStore, observer: observerInto([]), onRevoked() {}, log() {}, onBug() {} };
  const other = await forThisTest(startFrontDoor(replica, parts));
  const jwt = await assertion({}, undefined, one.issuer);
  const answers = await Promise.all([one.issuer, other.url, one.issuer].map((url) => askByKey(jwt, {}, url)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
});

test('metadata name the grant only where a client has it', async () => {
  const grants = async (issuer: string) => {
    const answer = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    return ((await answer.json()) as Record<string, unknown>)['grant_types_supported'];
  };
  expect(await grants(world.issuer)).toContain('client_credentials');
  const own = await forThisTest(startFrontDoorWorld());
  expect(await grants(own.issuer)).toEqual(['authorization_code']);
  const workloads = `workloads: { job: { issuer: "${keys.url}", subjects: [job], scopes: [read] } }`;
  const ofWorkloads = await forThisTest(startFrontDoorWorld({ frontDoor: workloads }));
  expect(await grants(ofWorkloads.issuer)).toEqual([
    'authorization_code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
  ]);
});
