/** Workloads exchange the OIDC token of their platform, RFC 7523 §2.1. They are no clients, and keep no secret. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/capabilities/all.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { subjectPatterns } from '../../src/front-door/workloads.ts';
import { createKey, generateKey, type Issuer, type SignOptions, startIssuer } from '../support/issuer.ts';
import { createProver } from '../support/prover.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';
import { observerInto, startFrontDoorWorld } from '../worlds/front-door.ts';

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const audience = 'https://signin.example.com';
/** A platform such as GitHub, GitLab or Kubernetes. */
const platform = startBeforeAll(async () => publishing(await startIssuer()));
const scopes = '{ read: { title: Read }, write: { title: Write, lifetime: 60s }, admin: { title: Administer } }';
const policy = 'scope: read\nclaims: { repository: acme/api }\ntools:\n  list_*: {}\n';

function publishing(issuer: Issuer): Issuer {
  issuer.intercept = (request, response) => {
    if (request.url !== '/.well-known/openid-configuration') return false;
    sendJson(response, 200, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
    return true;
  };
  return issuer;
}

const ofPlatform = (issuer = platform.url) => `workloads:
    github:
      issuer: ${issuer}
      audience: ${audience}
      subjects: ["repo:acme/*:ref:refs/heads/main"]
      claims: { repository: repository }
      scopes: [read, write]
      lifetime: 5m
    deploy: { issuer: ${issuer}, audience: ${audience}, subjects: ["repo:acme/*:environment:**"], scopes: [read] }
    cluster: { issuer: ${issuer}, subjects: ["system:serviceaccount:agents:*"], scopes: [read] }`;
const world = startBeforeAll(() =>
  startFrontDoorWorld({ frontDoor: ofPlatform(), scopes, policy, top: 'revocation: {}' }),
);
beforeEach(() => void (world.observed as string[]).splice(0));

const main = 'repo:acme/api:ref:refs/heads/main';
const assertion = (claims: Record<string, unknown> = {}, options: SignOptions = {}, issuer = platform) =>
  issuer.sign(
    { sub: main, aud: audience, repository: 'acme/api', ...claims },
    { ...options, header: { typ: 'JWT', ...options.header } },
  );

async function exchange(
  jwt: string,
  form: Record<string, string> = {},
  headers: Record<string, string> = {},
  issuer = world.issuer,
) {
  const body = new URLSearchParams({ grant_type: grant, assertion: jwt, ...form });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body, headers });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: answer };
}
const refused = { status: 400, body: { error: 'invalid_grant' } };

describe('a workload', () => {
  test('gets a token for its assertion alone, and calls as itself', async () => {
    const { status, body } = await exchange(await assertion());
    expect({ status, body }).toEqual({
      status: 200,
      body: { access_token: expect.any(String), token_type: 'Bearer', scope: 'read write', expires_in: 60 },
    });
    expect(await world.listTools(body['access_token'])).toBe(200);
    const { subject, ...decision } = await world.decision();
    expect(decision).toMatchObject({ allow: true, client_id: 'workload:github', issuer: world.issuer });
    expect(subject).toMatch(/^[\w-]{43}$/);
    expect(world.observed).toEqual(['token workload ok']);
  });

  test('has the same subject each time, and another than each other one', async () => {
    const subjectOf = async (claims: Record<string, unknown>) => {
      const { body } = await exchange(await assertion({ repository: 'acme/api', ...claims }));
      await world.listTools(body['access_token']);
      return (await world.decision())['subject'];
    };
    const all = [await subjectOf({}), await subjectOf({}), await subjectOf({ sub: main.replace('api', 'web') })];
    expect(new Set(all).size).toBe(2);
    expect(all[0]).toBe(all[1]);
  });

  test('uses its assertion again until it expires', async () => {
    const jwt = await assertion();
    expect([(await exchange(jwt)).status, (await exchange(jwt)).status]).toEqual([200, 200]);
  });

  test.each<[title: string, form: Record<string, string>, claims: Record<string, unknown>, expected: object]>([
    ['lives as long as the workload says', { scope: 'read' }, {}, { scope: 'read' }],
    ['ends with the assertion', { scope: 'read' }, { exp: Math.floor(Date.now() / 1000) + 100 }, { scope: 'read' }],
    ['has no scope beyond those of the workload', { scope: 'write admin' }, {}, { scope: 'write', expires_in: 60 }],
    ['is of the first workload that fits', {}, { sub: 'repo:acme/a:environment:x:y' }, { scope: 'read' }],
    ['needs no client', { client_id: 'unknown' }, {}, { token_type: 'Bearer' }],
  ])('gets a token that %s', async (_title, form, claims, expected) => {
    const { body } = await exchange(await assertion(claims), form);
    expect(body).toMatchObject(expected);
    expect(body['expires_in']).toBeLessThanOrEqual('exp' in claims ? 100 : 300);
    expect(body).not.toHaveProperty('refresh_token');
  });

  test('is refused a scope or a resource that it may not have', async () => {
    expect((await exchange(await assertion(), { scope: 'admin' })).body).toMatchObject({ error: 'invalid_scope' });
    const resource = 'https://other.example/mcp';
    expect((await exchange(await assertion(), { resource })).body).toMatchObject({ error: 'invalid_target' });
  });

  test('is no client: it authenticates as none', async () => {
    const basic = `Basic ${Buffer.from('a:b').toString('base64')}`;
    for (const [form, headers] of [
      [{ client_secret: 'x', client_id: 'a' }, {}],
      [{ client_assertion: 'x' }, {}],
      [{}, { authorization: basic }],
    ] as readonly [Record<string, string>, Record<string, string>][])
      expect(await exchange(await assertion(), form, headers)).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    expect(world.observed[0]).toBe('token workload invalid_request a workload does not authenticate as a client');
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'workload:github' });
    const response = await fetch(`${world.issuer}/token`, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  });

  test('gets a token that is bound to its key, if it proves one, and the cnf of its assertion needs that', async () => {
    const [owner, thief] = [await createProver(), await createProver()];
    const proof = async (prover = owner) => ({
      dpop: await prover.proof({ url: `${world.issuer}/token`, method: 'POST' }),
    });
    expect((await exchange(await assertion(), {}, await proof())).body).toMatchObject({ token_type: 'DPoP' });
    const bound = await assertion({ cnf: owner.cnf });
    expect(await exchange(bound)).toMatchObject(refused);
    expect(await exchange(bound, {}, await proof(thief))).toMatchObject(refused);
    expect((await exchange(bound, {}, await proof())).body).toMatchObject({ token_type: 'DPoP' });
  });

  test('gets a JWT where the front door issues those, with its subject', async () => {
    const own = await forThisTest(
      startFrontDoorWorld({ frontDoor: `${ofPlatform()}\n  tokens: { format: jwt }`, scopes, policy }),
    );
    const { body } = await exchange(await assertion(), {}, {}, own.issuer);
    const [, payload = ''] = String(body['access_token']).split('.');
    const { sub, client_id: client } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<
      string,
      unknown
    >;
    expect([sub, client]).toEqual([expect.stringMatching(/^[\w-]{43}$/), 'workload:github']);
    expect(await own.listTools(body['access_token'])).toBe(200);
  });
});

describe('refuses an assertion', () => {
  const now = Math.floor(Date.now() / 1000);
  test.each<[title: string, why: RegExp, claims: Record<string, unknown>, options?: SignOptions]>([
    ['for another audience', /aud lacks/, { aud: 'https://other.example' }],
    ['of an issuer that is not configured', /iss is not an issuer/, { iss: 'https://evil.example' }],
    ['of another repository', /sub is none/, { sub: 'repo:evil/api:ref:refs/heads/main' }],
    ['of another branch', /sub is none/, { sub: 'repo:acme/api:ref:refs/heads/main:x' }],
    ['whose subject a pattern covers only in part', /sub is none/, { sub: `x${main}` }],
    ['without a subject', /sub is not a text/, { sub: undefined }],
    ['whose subject is long', /sub is not a text/, { sub: `repo:acme/${'x'.repeat(300)}:ref:refs/heads/main` }],
    ['whose subject has a control character', /control/, { sub: 'repo:acme/a\n:ref:refs/heads/main' }],
    ['without iat', /"iat"/, { iat: undefined }],
    ['whose iat is a text', /iat/, { iat: String(now) }],
    ['from the future', /iat is in the future/, { iat: now + 60 }],
    ['without exp', /"exp"/, { exp: undefined }],
    ['whose exp is a text', /exp/, { exp: String(now + 60) }],
    ['that lives for more than a day', /24 hours/, { exp: now + 90_000 }],
    ['that has expired', /"exp"/, { exp: now - 10 }],
    ['that does not count yet', /"nbf"/, { nbf: now + 60 }],
    ['that is an access token', /typ/, {}, { header: { typ: 'at+jwt' } }],
    ['that is an identity assertion', /typ/, {}, { header: { typ: 'oauth-id-jag+jwt' } }],
  ])('%s', async (_title, why, claims, options) => {
    expect(await exchange(await assertion(claims, options))).toMatchObject(refused);
    expect(world.observed).toEqual([expect.stringMatching(/^token workload invalid_grant /)]);
    expect(world.observed[0]).toMatch(why);
  });

  test('that another key signed, that no key signed, or that is none', async () => {
    const forged = await assertion({}, { key: await createKey('k1') });
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    for (const jwt of [forged, `${none}.${forged.split('.')[1]}.`, 'no JWT', ''])
      expect(await exchange(jwt)).toMatchObject(refused);
    expect(world.observed.filter((line) => line.startsWith('token workload invalid_grant'))).toHaveLength(4);
  });

  test.each(['JOSE', 'application/JWT', undefined])('but one whose typ is %s counts', async (typ) => {
    expect((await exchange(await assertion({}, { header: { typ } }))).status).toBe(200);
  });

  test('of another audience beside ours counts', async () => {
    expect((await exchange(await assertion({ aud: ['https://other.example', audience] }))).status).toBe(200);
  });
});

describe('revocation', () => {
  const revoke = (command: object) => world.gateway.kept?.revoke(command);
  test.each([
    ['its subject at the platform', (sub: string) => ({ issuer: platform.url, subject: sub })],
    ['our subject', async (_sub: string, ours: unknown) => ({ issuer: world.issuer, subject: ours })],
  ])('by %s ends tokens, and refuses the assertion that they came of', async (title, command) => {
    const sub = `repo:acme/${title.length}:ref:refs/heads/main`;
    const jwt = await assertion({ sub });
    const { body } = await exchange(jwt);
    expect(await world.listTools(body['access_token'])).toBe(200);
    const { subject } = await world.decision();
    expect(await revoke(await command(sub, subject))).toContainEqual(expect.objectContaining({ isKnownIssuer: true }));
    expect(await world.listTools(body['access_token'])).toBe(401);
    expect(await exchange(jwt)).toMatchObject(refused);
    expect(world.observed.at(-1)).toMatch(/rights of this workload were ended/);
    const later = await assertion({ sub, iat: Math.floor(Date.now() / 1000) + 2 });
    expect((await exchange(later)).status).toBe(200);
  });
});

test('revocation of a workload by its client identifier ends all its tokens, and gives no new one', async () => {
  const own = await forThisTest(
    startFrontDoorWorld({ frontDoor: ofPlatform(), scopes, policy, top: 'revocation: {}' }),
  );
  const { body } = await exchange(await assertion(), {}, {}, own.issuer);
  await own.gateway.kept?.revoke({ issuer: own.issuer, client: 'workload:github' });
  expect(await own.listTools(body['access_token'])).toBe(401);
  expect(await exchange(await assertion(), {}, {}, own.issuer)).toMatchObject(refused);
  expect(own.observed.at(-1)).toMatch(/invalid_grant the rights of the workload github were ended/);
  const other = await assertion({ sub: 'repo:acme/a:environment:x' });
  expect((await exchange(other, {}, {}, own.issuer)).status).toBe(200);
});

describe('the keys of a platform', () => {
  const start = async (more: string, issuer?: Issuer) =>
    forThisTest(
      startFrontDoorWorld({
        frontDoor: `workloads: { own: { issuer: ${issuer?.url ?? platform.url}, audience: ${audience}, subjects: ["**"], scopes: [read], ${more} } }`,
        scopes,
        policy: 'scope: read\ntools: { "list_*": {} }\n',
      }),
    );

  test('come from a URL, and from a file', async () => {
    const byUrl = await start(`jwks: ${platform.url}/jwks`);
    expect((await exchange(await assertion(), {}, {}, byUrl.issuer)).status).toBe(200);
    const file = join(await mkdtemp(join(tmpdir(), 'sallyport-')), 'keys.json');
    await writeFile(file, JSON.stringify({ keys: platform.keys }));
    const byFile = await start(`jwks: "file:${file}"`);
    expect((await exchange(await assertion(), {}, {}, byFile.issuer)).status).toBe(200);
    const other = await assertion({}, { key: await createKey('k1') });
    expect(await exchange(other, {}, {}, byFile.issuer)).toMatchObject(refused);
  });

  test('are asked for with the token, and by the authority of `ca` alone', async () => {
    const asked: unknown[] = [];
    const folder = new URL('../support/certificates/', import.meta.url);
    const [cert, key] = [
      await readFile(new URL('server.pem', folder)),
      await readFile(new URL('server-key.pem', folder)),
    ];
    const server = createServer({ cert, key }, (request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: platform.keys }));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const ca = new URL('ca.pem', folder).pathname;
    const jwks = `jwks: "https://localhost:${port}/jwks"`;
    const trusting = await start(`${jwks}, ca: "${ca}", token: cluster-t0ken`);
    expect((await exchange(await assertion(), {}, {}, trusting.issuer)).status).toBe(200);
    expect(asked).toEqual(['Bearer cluster-t0ken']);
    const other = await start(jwks);
    expect(await exchange(await assertion(), {}, {}, other.issuer)).toMatchObject({
      status: 503,
      retryAfter: '10',
      body: { error: 'temporarily_unavailable' },
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test('are asked for once by a flood of unknown ones, and seldom while there is no answer', async () => {
    const issuer = publishing(await forThisTest(startIssuer(0, await generateKey('own', 'ES256'))));
    const own = await start('', issuer);
    const unknown = await generateKey('unknown', 'ES256');
    const flood = (count: number) =>
      Promise.all(
        Array.from({ length: count }, async () =>
          exchange(await assertion({}, { key: unknown }, issuer), {}, {}, own.issuer),
        ),
      );
    const { intercept } = issuer;
    issuer.intercept = (_request, response) => Boolean(response.writeHead(500).end());
    await flood(5);
    expect(issuer.requests).toHaveLength(1);
    issuer.intercept = intercept;
    expect((await flood(5)).map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    expect(issuer.requests).toHaveLength(1);
    const later = await start('', issuer);
    await exchange(await assertion({}, {}, issuer), {}, {}, later.issuer);
    const before = issuer.requestsTo('/jwks').length;
    for (let count = 0; count < 5; count += 1)
      await exchange(await assertion({}, { key: unknown }, issuer), {}, {}, later.issuer);
    expect(issuer.requestsTo('/jwks').length).toBe(before);
  });

  test('are no reason not to start', async () => {
    const own = await forThisTest(startFrontDoorWorld({ frontDoor: ofPlatform('http://127.0.0.1:1'), scopes, policy }));
    const jwt = await assertion({ iss: 'http://127.0.0.1:1' });
    expect(await exchange(jwt, {}, {}, own.issuer)).toMatchObject({ status: 503, retryAfter: '10' });
  });
});

describe('beside assertions', () => {
  test('an identity assertion still needs its client', async () => {
    const own = await forThisTest(
      startFrontDoorWorld({
        frontDoor: `${ofPlatform()}\n  clients:\n    registered:\n      desk: { client_secret: s3cr3t-of-desk, redirect_uris: ["http://127.0.0.1:*/callback"] }\n  assertions:\n    acme: { issuer: ${platform.url}, clients: [desk], scopes: [read] }`,
        scopes,
        policy,
      }),
    );
    const jag = await assertion({}, { header: { typ: 'oauth-id-jag+jwt' } });
    expect((await exchange(jag, {}, {}, own.issuer)).body).toMatchObject({ error: 'invalid_request' });
    const basic = `Basic ${Buffer.from('desk:s3cr3t-of-desk').toString('base64')}`;
    const body = (await exchange(jag, {}, { authorization: basic }, own.issuer)).body;
    expect(body).toMatchObject({ error: 'invalid_grant' });
    expect(own.observed.at(-1)).not.toContain('workload');
    expect((await exchange(await assertion(), {}, {}, own.issuer)).status).toBe(200);
  });

  test('other requests reach the token endpoint as they are', async () => {
    const body = new URLSearchParams({ grant_type: 'authorization_code', code: 'x', client_id: 'unknown' });
    const response = await fetch(`${world.issuer}/token`, { method: 'POST', body });
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'invalid_client' }),
    ]);
    const long = await fetch(`${world.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({ a: 'x'.repeat(60_000) }),
    });
    expect(long.status).toBe(413);
  });
});

test.runIf(hasRedis)('a token counts at each replica, and ends at each', async () => {
  const redis = await forThisTest(startRedis());
  const top = `session_key: k3y-of-at-least-thirty-two-characters\nshared: ${redis.url}`;
  const one = await forThisTest(startFrontDoorWorld({ frontDoor: ofPlatform(), scopes, policy, top }));
  const replica = one.configWith({ listen: { host: '127.0.0.1', port: 0 } });
  const other = await forThisTest(
    startFrontDoor(replica, { openStore, observer: observerInto([]), onRevoked() {}, log() {}, onBug() {} }),
  );
  const { body } = await exchange(await assertion(), {}, {}, other.url);
  expect(await one.listTools(body['access_token'])).toBe(200);
});

describe('patterns of subjects', () => {
  test.each<[pattern: string, covered: readonly string[], others: readonly string[]]>([
    ['a', ['a'], ['', 'b', 'aa', 'A']],
    ['repo:acme/*', ['repo:acme/x', 'repo:acme/x.y-z'], ['repo:acme/', 'repo:acme/x/y', 'repo:acme/x:y']],
    ['repo:acme/**', ['repo:acme/x', 'repo:acme/x/y:z'], ['repo:acme/', 'repo:acmes/x']],
    ['**:main', ['x:main', 'x:y:main'], [':main', 'x:main ']],
    ['*.*', ['a.b', 'a.b.c', '...'], ['..', 'a.', '.b', 'a:b.c:d']],
    ['a+(b)?', ['a+(b)?'], ['aab', 'a']],
  ])('%s', (pattern, covered, others) => {
    const fits = subjectPatterns([pattern]);
    expect([covered.filter((each) => !fits(each)), others.filter(fits)]).toEqual([[], []]);
  });

  test('cost no more than the product of the lengths', () => {
    const fits = subjectPatterns(['**a'.repeat(80)]);
    expect(fits(`${'a'.repeat(254)}b`)).toBe(false);
  });
});
