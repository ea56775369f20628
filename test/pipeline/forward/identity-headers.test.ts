import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ROTATION_MS } from '../../../src/lib/rotating-keys.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream } from '../../support/upstream.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const publicUrl = 'https://gateway.example';
const jwksPath = '/.well-known/sallyport-jwks.json';
const sessionKey = 'session_key: k3y-of-at-least-thirty-two-characters\n';

/** The first moment of a day, and what the gateways think it is. */
const midnight = Math.floor(Date.now() / ROTATION_MS) * ROTATION_MS;
let now = midnight;
const gateways: TestGateway[] = [];

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(startUpstream);
beforeAll(async () => {
  upstream.server.on('upgrade', (request, socket) => {
    upstream.seen.push({ method: 'GET', url: '', headers: request.headers, rawHeaders: request.rawHeaders, body: '' });
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
});
beforeEach(() => {
  now = midnight + ROTATION_MS / 2;
  upstream.seen.length = 0;
});
afterEach(() => Promise.all(gateways.splice(0).map((gateway) => gateway.close())));

async function start(identity: string, top = ''): Promise<TestGateway> {
  const gateway = await startTestGateway({
    publicUrl,
    clock: () => now,
    yaml: `${top}
authorization_servers:
  main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } }
allowed_hosts: [gateway.test]
scopes: { write: [read] }
routes:
  - name: api
    path: /
    audience: api
    upgrade: websocket
    upstream: { url: "${upstream.url}/base", identity: ${identity} }
`,
  });
  gateways.push(gateway);
  return gateway;
}

function token(claims: Record<string, unknown> = {}): Promise<string> {
  const second = Math.floor(now / 1000);
  return issuer.sign({ aud: 'api', iat: second, exp: second + 300, ...claims });
}

/** What the upstream got of one request. */
async function statement(gateway: TestGateway, claims: Record<string, unknown> = {}): Promise<string> {
  const answer = await fetch(gateway.url, { headers: { authorization: `Bearer ${await token(claims)}` } });
  expect(answer.status).toBe(200);
  return String(upstream.seen.at(-1)?.headers['x-auth-identity']);
}

/** As an upstream does by the documentation, at the time of the gateways. */
async function verified(jwt: string, from: TestGateway, audience = `${upstream.url}/base`): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(`${from.url}${jwksPath}`));
  return (await verifiedWith(jwt, keys, audience)).payload;
}

function verifiedWith(jwt: string, keys: ReturnType<typeof createRemoteJWKSet>, audience = `${upstream.url}/base`) {
  return jwtVerify(jwt, keys, {
    issuer: publicUrl,
    audience,
    typ: 'sallyport-identity+jwt',
    algorithms: ['ES256'],
    currentDate: new Date(now),
  });
}

describe('the statement', () => {
  test('names the subject, the client, the scopes, the upstream and the decision', async () => {
    const gateway = await start('{ signed: x-auth-identity, x-auth-subject: sub }');
    const jwt = await statement(gateway, { sub: 'alice', client_id: 'web', scope: 'write' });
    expect(await verified(jwt, gateway)).toEqual({
      iss: publicUrl,
      aud: `${upstream.url}/base`,
      sub: 'alice',
      client_id: 'web',
      scope: 'write read',
      token_issuer: issuer.url,
      jti: (await gateway.decision())['decision'],
      iat: now / 1000,
      exp: now / 1000 + 60,
    });
    expect(upstream.seen.at(-1)?.headers['x-auth-subject']).toBe('alice');
    expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: 'ES256', typ: 'sallyport-identity+jwt' });
  });

  test('chosen claims under the names that chose them, an audience of its own', async () => {
    const gateway = await start(
      '{ signed: { header: X-Auth-Identity, claims: [risk, /realm_access/roles, missing, constructor], audience: api-1 } }',
    );
    const jwt = await statement(gateway, { risk: { score: 4 }, realm_access: { roles: ['trader'] } });
    const payload = await verified(jwt, gateway, 'api-1');
    expect(payload).toMatchObject({ risk: { score: 4 }, '/realm_access/roles': ['trader'] });
    expect(Object.keys(payload).filter((name) => name === 'missing' || name === 'constructor')).toEqual([]);
    await expect(verified(jwt, gateway, 'another')).rejects.toThrow(errors.JWTClaimValidationFailed);
  });

  test('no subject, no client: none is made up', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    const payload = await verified(await statement(gateway, { sub: undefined }), gateway);
    expect(Object.keys(payload).toSorted()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'scope', 'token_issuer']);
  });

  test('a scope with a space in it does not become two', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    const jwt = await statement(gateway, { scp: ['orders', 'x admin'] });
    expect(decodeJwt(jwt)['scope']).toBe('orders');
  });

  test('never outlives the token', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    expect(decodeJwt(await statement(gateway, { exp: now / 1000 + 20.5 })).exp).toBe(now / 1000 + 20);
  });

  test('one for each request', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    const jwts = [await statement(gateway), await statement(gateway)];
    expect(new Set(jwts.map((jwt) => decodeJwt(jwt).jti)).size).toBe(2);
  });
});

describe('the client', () => {
  test('cannot use one as a token', async () => {
    const gateway = await start('{ signed: { header: x-auth-identity, audience: api } }');
    const jwt = await statement(gateway);
    const answer = await fetch(gateway.url, { headers: { authorization: `Bearer ${jwt}` } });
    expect([answer.status, (await gateway.decision())['reason']]).toEqual([401, 'token.issuer']);
  });
});

describe('verification fails for', () => {
  test('a statement that was changed', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    const [header, , signature] = (await statement(gateway)).split('.');
    const payload = Buffer.from(JSON.stringify({ iss: publicUrl, aud: `${upstream.url}/base`, sub: 'root' }));
    const forged = `${header}.${payload.toString('base64url')}.${signature}`;
    await expect(verified(forged, gateway)).rejects.toThrow(errors.JWSSignatureVerificationFailed);
  });

  test('one that has ended', async () => {
    const gateway = await start('{ signed: x-auth-identity }');
    const jwt = await statement(gateway);
    now += 59_000;
    await verified(jwt, gateway);
    now += 1_000;
    await expect(verified(jwt, gateway)).rejects.toThrow(errors.JWTExpired);
  });

  test('one of a gateway with another key', async () => {
    const [one, other] = [
      await start('{ signed: x-auth-identity }', sessionKey),
      await start('{ signed: x-auth-identity }'),
    ];
    await expect(verified(await statement(other), one)).rejects.toThrow(errors.JWKSNoMatchingKey);
  });
});

describe('replicas and rotation', () => {
  test('gateways with one session_key verify for each other', async () => {
    const [one, other] = [
      await start('{ signed: x-auth-identity }', sessionKey),
      await start('{ signed: x-auth-identity }', sessionKey),
    ];
    expect(await verified(await statement(one), other)).toMatchObject({ iss: publicUrl });
    expect(await verified(await statement(other), one)).toMatchObject({ iss: publicUrl });
  });

  test('a key set that is cached for its whole max-age verifies everything, across two rotations', async () => {
    const gateway = await start('{ signed: x-auth-identity }', sessionKey);
    const kids = new Set<unknown>();
    for (const rotation of [midnight, midnight + ROTATION_MS]) {
      // Fetched at the last moment before the rotation; used for five minutes after it, without another fetch.
      now = rotation - 1;
      const answer = await fetch(`${gateway.url}${jwksPath}`);
      const maxAgeMs = Number(/max-age=(\d+)/.exec(answer.headers.get('cache-control') ?? '')?.[1]) * 1000;
      let fetches = 0;
      const cached = createRemoteJWKSet(new URL(`${gateway.url}${jwksPath}`), { cacheMaxAge: Infinity });
      await cached.reload();
      const before = await statement(gateway);
      for (now of [rotation - 1, rotation, rotation + maxAgeMs]) {
        const jwt = await statement(gateway);
        kids.add(decodeProtectedHeader(jwt).kid);
        fetches = cached.jwks()?.keys.length ?? 0;
        await verifiedWith(jwt, cached);
      }
      // And what was signed just before verifies with a set that was fetched just after.
      now = rotation + 1;
      expect(await verified(before, gateway)).toMatchObject({ iss: publicUrl });
      expect(fetches).toBe(3);
    }
    expect(kids.size).toBe(3);
  });
});

describe('/.well-known/sallyport-jwks.json', () => {
  test('three public keys for signatures, cacheable, open to all origins, without a token', async () => {
    const gateway = await start('{ signed: x-auth-identity }', sessionKey);
    const answer = await fetch(`${gateway.url}${jwksPath}`);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
    });
    const { keys } = (await answer.json()) as { keys: object[] };
    expect(keys.map((key) => Object.keys(key).toSorted().join())).toEqual(Array(3).fill('alg,crv,kid,kty,use,x,y'));
    const methods = ['HEAD', 'OPTIONS', 'POST'].map(async (method) => {
      const { status } = await fetch(`${gateway.url}${jwksPath}`, { method });
      return status;
    });
    expect(await Promise.all(methods)).toEqual([200, 204, 405]);
  });

  test('nothing there while no route signs, and never the upstream', async () => {
    const gateway = await start('{ x-auth-subject: sub }', sessionKey);
    const headers = { authorization: `Bearer ${await token()}` };
    expect((await fetch(`${gateway.url}${jwksPath}`, { headers })).status).toBe(404);
    expect(upstream.seen).toEqual([]);
  });
});
