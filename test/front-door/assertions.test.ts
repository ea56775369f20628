/** MCP enterprise-managed authorization: the company's identity provider vouches for a person, and no browser is needed. */
import { openStore } from '../../src/capabilities/all.ts';
import { randomUUID } from 'node:crypto';
import { CrossAppAccessProvider, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeEach, describe, expect, test } from 'vitest';
import { createRecorder } from '../../demo/walk/recorder.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import type { Config } from '../../src/ports/config.ts';
import { createKey, type Issuer, startIssuer } from '../support/issuer.ts';
import { createProver, type Prover } from '../support/prover.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';
import { observerInto, startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient } from '../worlds/oauth-client.ts';

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const secret = 'the-secret-of-the-desk-app';
keepSecret(secret);
const company = startBeforeAll(async () => publishingOpenIdMetadata(await startIssuer()));
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: ownAssertions(),
    scopes:
      '{ read: { title: Read }, admin: { title: Administer }, payments: { title: Move, lifetime: 60s, max_age: 5m } }',
    policy: 'scope: read\nclaims: { role: trader }\ntools:\n  list_*: {}\n',
  }),
);
beforeEach(() => void (world.observed as string[]).splice(0));

function ownAssertions(): string {
  return `clients:
    registration: { redirect_uris: ["http://127.0.0.1:*/**"] }
    registered:
      desk-app: { name: Desk, client_secret: ${secret}, redirect_uris: ["http://127.0.0.1:*/callback"] }
      other-app: { name: Other, client_secret: ${secret}-2, redirect_uris: ["http://127.0.0.1:*/callback"] }
      open-app: { name: Open, redirect_uris: ["http://127.0.0.1:*/callback"] }
  assertions:
    acme:
      issuer: ${company.url}
      provider: corporate
      clients: [desk-app]
      scopes: [read, payments]
      claims: { role: /groups/0, tenant: org }`;
}

/** Metadata as an OpenID provider publishes them. */
function publishingOpenIdMetadata(issuer: Issuer): Issuer {
  issuer.answerAt('/.well-known/openid-configuration', (_request, response) =>
    sendJson(response, 200, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }),
  );
  return issuer;
}

const header = { typ: 'oauth-id-jag+jwt' };

function assertedNow(): Record<string, unknown> {
  return {
    sub: 'jane',
    aud: world.issuer,
    resource: world.mcpUrl.href,
    client_id: 'desk-app',
    scope: 'read admin payments',
    jti: randomUUID(),
    groups: ['trader', 'user'],
    org: 'acme',
  };
}

/** Signs an assertion; undefined leaves a claim out. */
const assertion = (
  claims: Record<string, unknown> = {},
  options: Parameters<Issuer['sign']>[1] = {},
): Promise<string> =>
  company.sign({ ...assertedNow(), ...claims }, { ...options, header: { ...header, ...options.header } });

const refused = { status: 400, body: { error: 'invalid_grant' } };
const desk = () => oauthClient(world.issuer, 'desk-app', undefined, { client_secret: secret });
const exchange = async (jwt: string, form: Record<string, string> = {}, client = desk()) =>
  client.post({ grant_type: grant, assertion: jwt, ...form });

test('the official client connects by cross-app access, without any browser request', async () => {
  const recorder = createRecorder();
  const contexts: unknown[] = [];
  const before = world.provider.authorizations.length;
  const authProvider = new CrossAppAccessProvider({
    clientId: 'desk-app',
    clientSecret: secret,
    expectedIssuer: world.issuer,
    fetchFn: recorder.fetch,
    assertion: ({ authorizationServerUrl, resourceUrl, scope }) => {
      contexts.push({ authorizationServerUrl, resourceUrl, scope });
      return assertion({ aud: authorizationServerUrl, resource: resourceUrl });
    },
  });
  const client = new Client({ name: 'desk', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(world.mcpUrl, { authProvider, fetch: recorder.fetch }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('list_accounts');
  expect(contexts).toEqual([{ authorizationServerUrl: world.issuer, resourceUrl: world.mcpUrl.href, scope: 'read' }]);
  expect(recorder.take().filter(({ url }) => /authorize|interaction|register/.test(url.pathname))).toEqual([]);
  expect(world.provider.authorizations).toHaveLength(before);
  expect(await world.decision()).toMatchObject({ allow: true, client_id: 'desk-app' });
  await client.close();
});

test('metadata name the grant and its profile', async () => {
  const metadata = await (await fetch(`${world.issuer}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({
    grant_types_supported: expect.arrayContaining([grant]),
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  });
});

test('a token has the asked, asserted and configured scopes, and nothing to refresh it', async () => {
  expect(await exchange(await assertion(), { scope: 'read admin' })).toEqual({
    status: 200,
    body: { access_token: expect.any(String), token_type: 'Bearer', scope: 'read', expires_in: 900 },
  });
  expect(world.observed).toEqual([`token ${grant} ok`]);
});

test('a scope with max_age needs a recent auth_time', async () => {
  const now = Math.floor(Date.now() / 1000);
  const scopeFor = async (authTime: unknown) =>
    (await exchange(await assertion({ auth_time: authTime }), { scope: 'read payments' })).body['scope'];
  expect(await scopeFor(now - 60)).toBe('read payments');
  expect(await scopeFor(now - 3600)).toBe('read');
  expect(await scopeFor(now + 3600), 'of the future').toBe('read');
  expect(await scopeFor(now * 1000), 'in milliseconds').toBe('read');
  expect(await scopeFor(undefined)).toBe('read');
  expect(await scopeFor(String(now))).toBe('read');
});

test('its subject is the person that signs in at the provider of the same company', async () => {
  world.provider.person = { sub: 'jane', claims: { roles: ['trader'], tid: 'acme' } };
  const signedIn = await desk().token();
  const vouched = await exchange(await assertion());
  const subjectOf = async (token: unknown): Promise<unknown> => {
    await world.listTools(token);
    return (await world.decision())['subject'];
  };
  const subject = await subjectOf(signedIn.body['access_token']);
  expect(subject).toEqual(expect.any(String));
  expect(await subjectOf(vouched.body['access_token'])).toBe(subject);
});

test('R-270: its token is bound to the key of the client, if the client proves one', async () => {
  const owner = await createProver();
  const form = { grant_type: grant, assertion: await assertion() };
  const dpop = await owner.proof({ url: `${world.issuer}/token`, method: 'POST' });
  const { body } = await desk().post(form, '/token', { dpop });
  expect(body['token_type']).toBe('DPoP');
  const { status } = await desk().post({ ...form, assertion: await assertion() }, '/token', { dpop });
  expect(status, 'the proof was used').toBe(400);
  expect(await world.listTools(body['access_token']), 'it is no bearer token').toBe(401);
});

describe('refuses an assertion', () => {
  const other = 'https://other.example';
  const now = Math.floor(Date.now() / 1000);
  test.each<[title: string, why: RegExp, claims?: Record<string, unknown>, form?: Record<string, string>]>([
    ['for another authorization server', /"aud"/, { aud: other }],
    ['for several authorization servers', /aud names others/, { aud: ['ISSUER', other] }],
    ['for another client', /client_id is another client/, { client_id: 'other-app' }],
    ['for a resource of another front door', /not one of this/, { resource: `${other}/mcp` }],
    ['for two resources', /not one resource/, { resource: ['https://a.example', 'https://b.example'] }],
    ['when the client asks for another resource', /not one of this/, {}, { resource: `${other}/` }],
    ['without a resource', /"resource"/, { resource: undefined }],
    ['without a jti', /"jti"/, { jti: undefined }],
    ['without an iat', /"iat"/, { iat: undefined }],
    ['without a scope', /"scope"/, { scope: undefined }],
    ['whose subject is empty', /sub is not a text of 1 to 255/, { sub: '' }],
    ['whose subject is a number', /sub/, { sub: 7 }],
    ['that is six minutes old', /"iat"/, { iat: now - 360 }],
    ['that is from the future', /"iat"/, { iat: now + 600 }],
    ['that has expired', /"exp"/, { exp: now - 60 }],
    ['whose scopes are not configured', /no scope/, { scope: 'admin' }],
    ['when the client asks for a scope that it lacks', /no scope/, { scope: 'read' }, { scope: 'admin' }],
  ])('%s', async (_title, why, claims = {}, form = {}) => {
    const own = Array.isArray(claims['aud']) ? { ...claims, aud: [world.issuer, other] } : claims;
    expect(await exchange(await assertion(own), form)).toMatchObject(refused);
    expect(world.observed).toEqual([expect.stringMatching(why)]);
  });

  test('that is another kind of token of the same issuer', async () => {
    for (const typ of ['JWT', 'at+jwt', undefined])
      expect(await exchange(await assertion({}, { header: { typ } }))).toMatchObject(refused);
  });

  test('R-284: that is bound to a key which the client does not prove', async () => {
    const [owner, thief] = [await createProver(), await createProver()];
    const bound = (cnf: unknown) => assertion({ cnf });
    const at = (prover: Prover) => prover.proof({ url: `${world.issuer}/token`, method: 'POST' });
    const presented = async (jwt: string, prover?: Prover) =>
      desk().post({ grant_type: grant, assertion: jwt }, '/token', prover ? { dpop: await at(prover) } : {});
    const { cnf } = owner;
    for (const [key, prover] of [[cnf], [cnf, thief], [{ 'x5t#S256': 'a' }, owner], ['none', owner]] as const)
      expect(await presented(await bound(key), prover)).toMatchObject(refused);
    expect(world.observed.at(-1)).toMatch(/cnf/);
    expect((await presented(await bound(cnf), owner)).body['token_type']).toBe('DPoP');
  });

  test('that another key signed, or no key', async () => {
    const forged = await assertion({}, { key: await createKey('k1') });
    const none = Buffer.from(JSON.stringify({ ...header, alg: 'none' })).toString('base64url');
    const unsigned = `${none}.${forged.split('.')[1]}.`;
    for (const jwt of [forged, unsigned]) expect(await exchange(jwt)).toMatchObject(refused);
    expect(world.observed.map((line) => line.replace(`token ${grant} invalid_grant `, ''))).toEqual([
      'signature verification failed',
      '"alg" (Algorithm) Header Parameter value not allowed',
    ]);
  });

  test('of an issuer that is not configured', async () => {
    for (const jwt of [await assertion({ iss: 'https://evil.example' }), 'not a JWT'])
      expect(await exchange(jwt)).toMatchObject(refused);
  });

  test('by a client that the issuer does not vouch to, or that has not authenticated', async () => {
    const other = oauthClient(world.issuer, 'other-app', undefined, { client_secret: `${secret}-2` });
    expect((await exchange(await assertion({ client_id: 'other-app' }), {}, other)).status).toBe(400);
    const open = oauthClient(world.issuer, 'open-app');
    // `check` refuses such a configuration.
    world.frontDoor.reload(vouchingFor('open-app'));
    expect(await exchange(await assertion({ client_id: 'open-app' }), {}, open)).toMatchObject(refused);
    expect(world.observed.at(-1)).toContain('the client has not authenticated');
    world.frontDoor.reload(world.config);
    const impostor = oauthClient(world.issuer, 'desk-app', undefined, { client_secret: 'guessed' });
    expect((await exchange(await assertion(), {}, impostor)).body).toMatchObject({ error: 'invalid_client' });
  });

  test('a second time, also when both come at once', async () => {
    const jwt = await assertion();
    const answers = await Promise.all([exchange(jwt), exchange(jwt), exchange(jwt)]);
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400, 400]);
    expect(await exchange(jwt)).toMatchObject(refused);
    expect(world.observed.filter((line) => line.includes('jti was used already'))).toHaveLength(3);
  });
});

/** The configuration of the world, with another client of the assertions. */
function vouchingFor(client: string): Config {
  const assertions = [...world.config.frontDoor.assertions].map(
    ([name, each]) => [name, { ...each, clients: [client] }] as const,
  );
  return world.configWith({ assertions: new Map(assertions) });
}

test.runIf(hasRedis)(
  'R-269: an assertion counts once over all replicas, also when it reaches several at once',
  async () => {
    const redis = await forThisTest(startRedis());
    const top = `session_key: k3y-of-at-least-thirty-two-characters\nshared: ${redis.url}`;
    const one = await forThisTest(startFrontDoorWorld({ frontDoor: ownAssertions(), top }));
    const observed: string[] = [];
    const replica = one.configWith({ listen: { host: '127.0.0.1', port: 0 } });
    const observer = observerInto(observed);
    const other = await forThisTest(
      startFrontDoor(replica, { openStore, observer, onRevoked() {}, log() {}, onBug() {} }),
    );
    const [here, there] = [one.issuer, other.url].map((url) =>
      oauthClient(url, 'desk-app', undefined, { client_secret: secret }),
    ) as [OAuthClient, OAuthClient];
    const assertionHere = () => assertion({ aud: one.issuer, resource: one.mcpUrl.href });
    const jwt = await assertionHere();
    expect((await exchange(jwt, {}, here)).status).toBe(200);
    expect(await exchange(jwt, {}, there)).toMatchObject(refused);
    expect(observed).toEqual([`token ${grant} invalid_grant jti was used already`]);
    const raced = await assertionHere();
    const answers = await Promise.all([here, there, here, there].map((client) => exchange(raced, {}, client)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
    // A fresh one is accepted there: the refusals above were about `jti`.
    expect((await exchange(await assertionHere(), {}, there)).status).toBe(200);
  },
);

test('an outage of the issuer is no fault of the assertion', async () => {
  const { intercept } = company;
  const ofNewKey = await assertion({}, { key: await createKey('new') });
  expect(await exchange(ofNewKey)).toMatchObject(refused);
  const other = await forThisTest(startFrontDoorWorld({ frontDoor: ownAssertions() }));
  company.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  const client = oauthClient(other.issuer, 'desk-app', undefined, { client_secret: secret });
  const jwt = await assertion({ aud: other.issuer, resource: other.mcpUrl.href });
  expect((await exchange(jwt, {}, client)).body).toMatchObject({ error: 'temporarily_unavailable' });
  company.intercept = intercept;
  expect((await exchange(jwt, {}, client)).status).toBe(200);
});

test('a token that its client revokes opens nothing', async () => {
  const { body } = await exchange(await assertion());
  const token = String(body['access_token']);
  const revoked = await desk().post({ token }, '/revoke');
  expect(revoked.status).toBe(200);
  expect(await world.listTools(token)).toBe(401);
});
