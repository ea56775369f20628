/**
 * Assertions of workloads that an attacker forged, took from elsewhere or presents elsewhere (RFC 7523 §8, RFC 7521 §8,
 * RFC 8725), and platforms that are wrong or hostile.
 *
 * @module
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { listen } from '../../demo/listen.ts';
import { generateKey, type Issuer, startIssuer } from '../support/issuer.ts';
import { startHttp } from '../support/mcp-servers.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const secret = 'the-secret-of-the-report-job';
keepSecret(secret);
const platform = startBeforeAll(async () => startIssuer(0, await generateKey('k1', 'RS256')));
/** A server of the attacker, or inside of the operator's network, which the front door must not ask. */
const asked: string[] = [];
const elsewhere = startBeforeAll(() =>
  startHttp((request, response) => {
    asked.push(request.url ?? '');
    sendJson(response, 200, { keys: [] });
  }),
);
const workload = (more: string, issuer = platform.url) =>
  `workloads: { job: { issuer: "${issuer}", subjects: ["job-*"], scopes: [read]${more} } }`;
const options = (more = '', issuer = platform.url) => ({
  frontDoor: `clients:
    registered:
      job-1: { client_auth: private_key_jwt, jwks_uri: "${platform.url}/jwks", grants: [client_credentials], scopes: [read] }
      report: { client_secret: ${secret}, grants: [client_credentials], scopes: [read] }
  ${workload(more, issuer)}`,
});
const world = startBeforeAll(() => startFrontDoorWorld(options(`, jwks: "${platform.url}/jwks"`)));
beforeEach(() => {
  asked.splice(0);
  (world.observed as string[]).splice(0);
});

async function exchange(assertion: string, { issuer }: Pick<FrontDoorWorld, 'issuer'> = world) {
  const body = new URLSearchParams({ grant_type: grant, assertion });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const good = (header: Record<string, unknown> = {}, claims: Record<string, unknown> = {}) =>
  platform.sign({ sub: 'job-1', aud: world.issuer, ...claims }, { header: { typ: 'JWT', ...header } });
const refused = { status: 400, body: { error: 'invalid_grant' } };

test('a good one counts', async () => {
  expect((await exchange(await good())).status).toBe(200);
});

describe('a key of the attacker does not count', () => {
  /** An assertion that the key of the attacker signed. */
  async function forged(header: (jwk: object) => object): Promise<string> {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    return new SignJWT({ sub: 'job-1', aud: world.issuer, iss: platform.url })
      .setIssuedAt()
      .setExpirationTime('5m')
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...header(await exportJWK(publicKey)) })
      .sign(privateKey);
  }

  test.each<[title: string, header: (jwk: object) => object]>([
    ['in the header, as jwk', (jwk) => ({ jwk })],
    ['at a URL, as jku', () => ({ jku: `${elsewhere.url}/jku`, kid: 'k1' })],
    ['in a certificate at a URL, as x5u', () => ({ x5u: `${elsewhere.url}/x5u`, kid: 'k1' })],
    ['in a certificate, as x5c', () => ({ x5c: ['MIIB'], kid: 'k1' })],
    ['with the kid of the platform', () => ({ kid: 'k1' })],
    ['with a kid that is a URL', () => ({ kid: `${elsewhere.url}/kid` })],
    ['with a kid that is a path', () => ({ kid: '../../../dev/null' })],
    ['with a kid of each object', () => ({ kid: '__proto__' })],
    ['with a kid that is no text', () => ({ kid: { $ne: null } })],
    ['with a kid of 30,000 characters', () => ({ kid: 'k'.repeat(30_000) })],
  ])('%s', async (_title, header) => {
    expect(await exchange(await forged(header))).toMatchObject(refused);
    expect(asked).toEqual([]);
  });

  test('as the public key of the platform is no secret of HS256', async () => {
    const publicKey = (await importJWK(platform.key.publicJwk, 'RS256')) as Parameters<typeof exportSPKI>[0];
    for (const key of [await exportSPKI(publicKey), JSON.stringify(platform.key.publicJwk), '']) {
      const jwt = await new SignJWT({ sub: 'job-1', aud: world.issuer, iss: platform.url })
        .setIssuedAt()
        .setExpirationTime('5m')
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'k1' })
        .sign(Buffer.from(key.padEnd(32)));
      expect(await exchange(jwt)).toMatchObject(refused);
    }
  });

  test('where the platform publishes a secret, or its private key', async () => {
    const issuer = await forThisTest(startIssuer(0, await generateKey('k1', 'ES256')));
    const shared = Buffer.alloc(32, 's');
    const { d } = await exportJWK(issuer.key.privateKey);
    issuer.keys = [
      { kty: 'oct', kid: 'oct', k: shared.toString('base64url'), alg: 'HS256' },
      { ...issuer.key.publicJwk, ...(d !== undefined && { d }) },
    ];
    const own = await forThisTest(startFrontDoorWorld(options(`, jwks: "${issuer.url}/jwks"`, issuer.url)));
    const claims = { sub: 'job-1', aud: own.issuer };
    const bySecret = await new SignJWT({ ...claims, iss: issuer.url })
      .setIssuedAt()
      .setExpirationTime('5m')
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'oct' })
      .sign(shared);
    expect(await exchange(bySecret, own)).toMatchObject(refused);
    expect(await exchange(await issuer.sign(claims, { header: { typ: 'JWT' } }), own)).toMatchObject(refused);
  });
});

test.each([
  [
    'whose header has a critical member that is not known',
    async () => {
      const [, payload, signature] = (await good()).split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'k1', crit: ['exp'], exp: 1 })).toString(
        'base64url',
      );
      return `${header}.${payload}.${signature}`;
    },
  ],
  [
    'with a changed claim',
    async () => {
      const [header, payload = '', signature] = (await good()).split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'job-2' })).toString('base64url')}.${signature}`;
    },
  ],
  [
    'that is encrypted',
    async () => 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA',
  ],
  ['without a signature', async () => `${(await good()).split('.').slice(0, 2).join('.')}.`],
  ['with white space around it', async () => ` ${await good()} `],
])('refuses one %s', async (_title, make) => {
  expect(await exchange(await make())).toMatchObject(refused);
});

test('two assertions in one request are refused', async () => {
  const body = new URLSearchParams([
    ['grant_type', grant],
    ['assertion', await good()],
    ['assertion', await good()],
  ]);
  const response = await fetch(`${world.issuer}/token`, { method: 'POST', body });
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ error: 'invalid_request' }),
  ]);
});

describe('an assertion that was taken', () => {
  test('from another front door does not count here', async () => {
    const other = await forThisTest(startFrontDoorWorld(options(`, jwks: "${platform.url}/jwks"`)));
    const jwt = await good({}, { aud: other.issuer });
    expect((await exchange(jwt, other)).status).toBe(200);
    expect(await exchange(jwt)).toMatchObject(refused);
    expect(world.observed.at(-1)).toContain('aud lacks');
  });

  test.each(['URL', 'prefix', 'other case'])('with an audience that is alike, by %s, does not count', async (kind) => {
    const aud = { URL: `${world.issuer}/`, prefix: `${world.issuer}0`, 'other case': world.issuer.toUpperCase() }[kind];
    expect(await exchange(await good({}, { aud }))).toMatchObject(refused);
  });

  test('is no access token, and authenticates no client of the same name, with the same keys', async () => {
    const jwt = await good({}, { jti: 'one', iss: platform.url });
    expect(await world.listTools(jwt)).toBe(401);
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: jwt,
    });
    const response = await fetch(`${world.issuer}/token`, { method: 'POST', body });
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'invalid_client' }),
    ]);
  });

  test('and an access token of the front door is no assertion', async () => {
    const { body } = await exchange(await good());
    expect(await exchange(String(body['access_token']))).toMatchObject(refused);
  });
});

test('an identifier of a workload is no client of another grant', async () => {
  for (const form of [
    { grant_type: 'client_credentials', client_id: 'workload:job' },
    { grant_type: 'authorization_code', client_id: 'workload:job', code: 'x', redirect_uri: 'http://127.0.0.1/' },
    { grant_type: 'refresh_token', client_id: 'workload:', refresh_token: 'x' },
  ]) {
    const response = await fetch(`${world.issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
    expect(response.status).toBe(400);
  }
  const authorize = `${world.issuer}/authorize?client_id=workload:job&response_type=code&redirect_uri=http://127.0.0.1/`;
  expect((await fetch(authorize, { redirect: 'manual' })).status).toBe(400);
});

describe('a platform that', () => {
  /** A front door that discovers this platform, and what it answers to a good assertion. */
  async function answered(issuer: Issuer): Promise<{ readonly status: number; readonly why: string | undefined }> {
    const own = await forThisTest(startFrontDoorWorld(options('', issuer.url)));
    const jwt = await issuer.sign({ sub: 'job-1', aud: own.issuer }, { header: { typ: 'JWT' } });
    const { status } = await exchange(jwt, own);
    return { status, why: own.observed.at(-1) };
  }
  const started = async () => forThisTest(startIssuer(0, await generateKey('k1', 'ES256')));
  const discovery = '/.well-known/openid-configuration';

  test('redirects from its metadata or its keys leads nowhere', async () => {
    for (const path of [discovery, '/jwks']) {
      const issuer = await started();
      issuer.intercept = ({ url }, response) => {
        if (url === path) response.writeHead(307, { location: `${elsewhere.url}/latest/meta-data` }).end();
        else sendJson(response, 200, { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
        return true;
      };
      expect(await answered(issuer)).toMatchObject({ status: 503, why: expect.stringContaining('redirect') });
    }
    expect(asked).toEqual([]);
  });

  test('names another issuer in its metadata, or no keys, is not believed', async () => {
    for (const metadata of [{ issuer: 'https://evil.example' }, {}, { issuer: [] }]) {
      const issuer = await started();
      issuer.answerAt(discovery, (_request, response) =>
        sendJson(response, 200, {
          issuer: issuer.url,
          ...metadata,
          ...('issuer' in metadata && { jwks_uri: elsewhere.url }),
        }),
      );
      expect((await answered(issuer)).status).toBe(503);
    }
    expect(asked).toEqual([]);
  });

  test('answers with a huge key set costs itself alone', async () => {
    const issuer = await started();
    const huge = { keys: Array.from({ length: 5_000 }, () => issuer.key.publicJwk) };
    issuer.intercept = ({ url }, response) => {
      sendJson(response, 200, url === discovery ? { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` } : huge);
      return true;
    };
    expect(await answered(issuer)).toMatchObject({ status: 503, why: expect.stringContaining('524288 bytes') });
  });

  test('stops in the middle of its answer gets its job 503', async () => {
    const issuer = await started();
    issuer.answerAt(discovery, (_request, response) => response.writeHead(200).write('{'));
    expect((await answered(issuer)).status).toBe(503);
  });

  test('leads from https to keys over plain http is not followed', async () => {
    const folder = new URL('../support/certificates/', import.meta.url);
    const [cert, key] = await Promise.all(
      ['server.pem', 'server-key.pem'].map((name) => readFile(new URL(name, folder))),
    );
    const server = createServer({ cert, key }, ({ headers }, response) =>
      sendJson(response, 200, { issuer: `https://${headers.host}`, jwks_uri: `${elsewhere.url}/jwks` }),
    );
    const { url, close } = await listen(server, 0);
    const issuer = url.replace('http://127.0.0.1', 'https://localhost');
    const ca = new URL('ca.pem', folder).pathname;
    const own = await forThisTest(startFrontDoorWorld(options(`, ca: "${ca}", token: of-the-cluster`, issuer)));
    const jwt = await platform.sign({ iss: issuer, sub: 'job-1', aud: own.issuer }, { header: { typ: 'JWT' } });
    expect((await exchange(jwt, own)).status).toBe(503);
    expect(own.observed.at(-1)).toContain('jwks_uri is not https');
    expect(asked).toEqual([]);
    await close();
  });
});
