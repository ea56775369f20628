import { CompactSign } from 'jose';
import { describe, expect, test } from 'vitest';
import { apiAudience, startService } from './service.ts';
import { normalized } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

const service = startBeforeAll(startService);

const highWorth = '/demo/highworthdata';

const needsRead = 'Bearer error="insufficient_scope", scope="read"';

async function get(path: string, claims?: Record<string, unknown>): Promise<readonly [number, string | null]> {
  const { status, challenge } = await service.send(path, { token: await service.apiToken(claims) });
  return [status, challenge];
}

describe('the two endpoints', () => {
  test('R-177: serves a GET with the scope read', async () => {
    expect(await get('/demo/data')).toEqual([200, null]);
    expect(service.upstream.seen.at(-1)).toMatchObject({ method: 'GET', url: '/demo/data', body: '' });
  });

  test('R-177: asks for no risk score at /demo/data', async () => {
    expect(await get('/demo/data', { risk: undefined })).toEqual([200, null]);
    expect(await get('/demo/data', { risk: 99 })).toEqual([200, null]);
  });

  test('R-178: serves a GET with the scope read and a low risk', async () => {
    expect(await get(highWorth)).toEqual([200, null]);
    expect(service.upstream.seen.at(-1)?.headers).toMatchObject({ 'x-auth-subject': 'alice', 'x-auth-risk': '20' });
  });

  test('R-81, R-178: refuses a low risk without the scope', async () => {
    expect(await get(highWorth, { scope: 'write' })).toEqual([403, needsRead]);
  });

  test.for(['POST', 'HEAD'])('R-179: answers %s with 405', async (method) => {
    const { status, headers } = await service.send('/demo/data', { method, token: await service.apiToken() });
    expect([status, headers.get('allow')]).toEqual([405, 'GET']);
  });
});

describe('every other path', () => {
  const paths = ['/', '/demo/other', '/demo/dataX'];
  test.for(paths)('R-161, R-180: asks for a valid token at %s, and for no more', async (path) => {
    const before = service.upstream.seen.length;
    expect(await service.send(path)).toMatchObject({ status: 401, challenge: 'Bearer' });
    expect(service.upstream.seen.length).toBe(before);
    expect(await get(path, { scope: undefined, risk: 99 })).toEqual([200, null]);
  });

  test.for(['/demo/highworthDATA', '/demo/%64ata'])(
    'R-180: refuses %s, which an upstream could take for a stricter route',
    async (path) => {
      const token = await service.apiToken({ scope: undefined });
      const raw = await service.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test', `Authorization: Bearer ${token}`);
      expect(raw).toMatch(/^HTTP\/1\.1 400 /);
    },
  );
});

describe('the scope', () => {
  test.for([
    ['openid  read', true],
    ['readonly', false],
    ['read,write', false],
    [undefined, false],
  ] as const)('R-78: splits the scope on spaces: %j passes: %s', async ([scope, passes]) => {
    const expected = passes ? [200, null] : [403, needsRead];
    expect(await get('/demo/data', { scope })).toEqual(expected);
    expect(await get(highWorth, { scope })).toEqual(expected);
  });

  test('R-79: refuses a token whose scope is no text', async () => {
    expect(await get('/demo/data', { scope: [['read', 1]] })).toEqual([401, 'Bearer error="invalid_token"']);
  });
});

describe('the risk score', () => {
  // test/core/policy/predicate.test.ts has the table of values.
  test.for([49, '-7'])('R-80, R-178: takes %j for an integer under 50', async (risk) => {
    expect(await get(highWorth, { risk })).toEqual([200, null]);
  });

  test.for([[50], ['0x10'], [undefined]])('R-19, R-80, R-178: does not take %j for one', async ([risk]) => {
    expect(await get(highWorth, { risk })).toEqual([403, null]);
  });

  test('R-80: does not take a number for one that parsers read differently', async () => {
    const { key, url } = service.issuer;
    const iat = Math.floor(Date.now() / 1000);
    const times = `"iat":${iat},"exp":${iat + 300}`;
    const json = `{"iss":"${url}","aud":"${apiAudience}","sub":"alice","scope":"read",${times},"risk":-9007199254740993}`;
    const token = await new CompactSign(Buffer.from(json))
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt' })
      .sign(key.privateKey);
    expect(await service.send(highWorth, { token })).toMatchObject({ status: 403, challenge: null });
  });
});

async function raw(path: string, token?: string): Promise<string> {
  const fields = token === undefined ? [] : [`Authorization: Bearer ${token}`];
  return normalized(await service.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test', ...fields));
}

function unauthorized(challenge: string): string {
  return `HTTP/1.1 401 Unauthorized
www-authenticate: ${challenge}
content-length: 0
x-request-id: …
date: …
connection: close

`;
}

describe('the bytes of a refusal', () => {
  test('R-13: answers a request without a token with 401, Bearer and an empty body', async () => {
    expect(await raw('/demo/data')).toBe(unauthorized('Bearer'));
  });

  test('R-15: answers an invalid token with 401 and an empty body', async () => {
    expect(await raw('/demo/data', 'garbage')).toBe(unauthorized('Bearer error="invalid_token"'));
    expect(await raw('/', await service.apiToken({ exp: 1 }))).toBe(unauthorized('Bearer error="invalid_token"'));
  });

  test('R-17, R-26: answers a missing scope with 403 and the scope that cures it', async () => {
    expect(await raw('/demo/data', await service.apiToken({ scope: 'write' }))).toBe(`HTTP/1.1 403 Forbidden
www-authenticate: ${needsRead}
content-type: application/problem+json
cache-control: no-store
content-length: 123
x-request-id: …
date: …
connection: close

{"title":"Insufficient scope","status":403,"reason":"scope.insufficient","decision":"…"}`);
  });

  test('R-19, R-26: answers a high risk with 403 and no challenge', async () => {
    expect(await raw(highWorth, await service.apiToken({ risk: 50 }))).toBe(`HTTP/1.1 403 Forbidden
content-type: application/problem+json
cache-control: no-store
content-length: 112
x-request-id: …
date: …
connection: close

{"title":"Access denied","status":403,"reason":"claim.denied","decision":"…"}`);
  });
});

const accepted = { status: 200, challenge: null };

const refused = { status: 401, challenge: 'Bearer error="invalid_token"', text: '' };

/** `/demo/data` for a good token, and the reason in the log for any other. */
async function present(token: string): Promise<object> {
  const { status, challenge, text } = await service.send('/demo/data', { token });
  return status === 200 ? { status, challenge } : { status, challenge, text };
}

test('R-39: accepts a valid JWT', async () => {
  expect(await present(await service.apiToken())).toEqual(accepted);
});

test('R-39: refuses one changed byte of header, claims or signature', async () => {
  const parts = (await service.apiToken()).split('.');
  for (const index of [0, 1, 2]) {
    const part = parts[index] ?? '';
    const changed = part.slice(0, 20) + (part[20] === 'A' ? 'B' : 'A') + part.slice(21);
    expect(await present(parts.with(index, changed).join('.'))).toEqual(refused);
  }
});

test('R-41: fetches the keys from the jwks_uri of the metadata', async () => {
  expect(await present(await service.apiToken())).toEqual(accepted);
  const paths = service.issuer.requests.map(({ path }) => path);
  expect(paths).toContain('/.well-known/oauth-authorization-server');
  expect(paths).toContain('/jwks');
});

// test/spec/rfc9068.test.ts has, test/tokens/jwt.test.ts the table of forged tokens.
test('R-48: finds claims under the names that OAuth gives them, and under no others', async () => {
  const platform = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier';
  const world = await startWorld({
    routes: [
      `name: api, path: /, audience: a, policy: p, upstream: { url: "UPSTREAM", identity: { x-sub: sub, x-scope: scope, x-client: client_id, x-role: role, x-long: "${platform}" } }`,
    ],
    policies: { p: 'scope: read\nclaims: { role: trader }\n' },
  });
  const claims = { aud: 'a', sub: 'alice', scope: 'read', client_id: 'web', role: 'trader' };
  const { status } = await world.send('/', { token: await world.issuer.sign(claims) });
  const translated = {
    aud: 'a',
    [platform]: 'alice',
    scope: 'read',
    'http://schemas.microsoft.com/ws/2008/06/identity/claims/role': 'trader',
  };
  const other = await world.send('/', { token: await world.issuer.sign(translated) });
  await world.close();
  expect([status, other.status]).toEqual([200, 403]);
  expect(world.upstream.seen.at(-1)?.headers).toMatchObject({
    'x-sub': 'alice',
    'x-scope': 'read',
    'x-client': 'web',
    'x-role': 'trader',
  });
  expect(world.upstream.seen.at(-1)?.headers['x-long']).toBeUndefined();
});
