import { CompactSign } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiAudience, startService, type Service } from './service.ts';
import { normalized } from './world.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const highWorth = '/demo/highworthdata';
const needsRead = 'Bearer error="insufficient_scope", scope="read"';

async function get(path: string, claims?: Record<string, unknown>): Promise<readonly [number, string | null]> {
  const { status, challenge } = await service.send(path, { token: await service.apiToken(claims) });
  return [status, challenge];
}

describe('the two endpoints', () => {
  test('§1.5, §4.6/data — GET with the scope read', async () => {
    expect(await get('/demo/data')).toEqual([200, null]);
    expect(service.upstream.seen.at(-1)).toMatchObject({ method: 'GET', url: '/demo/data', body: '' });
  });

  test('§4.6/data — needs no risk score', async () => {
    expect(await get('/demo/data', { risk: undefined })).toEqual([200, null]);
    expect(await get('/demo/data', { risk: 99 })).toEqual([200, null]);
  });

  test('§1.5, §4.6/highworthdata — GET with the scope read and a low risk', async () => {
    expect(await get(highWorth)).toEqual([200, null]);
    expect(service.upstream.seen.at(-1)?.headers).toMatchObject({ 'x-auth-subject': 'alice', 'x-auth-risk': '20' });
  });

  test('§4.6/highworthdata — a low risk does not replace the scope', async () => {
    expect(await get(highWorth, { scope: 'write' })).toEqual([403, needsRead]);
  });

  test.for(['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])('§4.6c — %s is not served', async (method) => {
    const { status, headers } = await service.send('/demo/data', { method, token: await service.apiToken() });
    expect([status, headers.get('allow')]).toEqual([405, 'GET']);
  });

  test.for(['/demo/data', highWorth])('§4.6a, §1.4b — %s needs a valid JWT on every request', async (path) => {
    expect(await get(path)).toEqual([200, null]);
    expect(await service.send(path)).toMatchObject({ status: 401, challenge: 'Bearer' });
    expect(await get(path)).toEqual([200, null]);
  });
});

describe('everything else', () => {
  const paths = ['/', '/anything/else', '/demo', '/demo/other', '/demo/dataX', '/mcpx', '/favicon.ico', '/public-x'];
  test.for(paths)('§4.6b — %s needs an authenticated user, and no more', async (path) => {
    const before = service.upstream.seen.length;
    expect(await service.send(path)).toMatchObject({ status: 401, challenge: 'Bearer' });
    expect(service.upstream.seen.length).toBe(before);
    expect(await get(path, { scope: undefined, risk: 99 })).toEqual([200, null]);
  });

  test.for([
    '/Demo/Data',
    '/demo/DATA',
    '/demo/highworthDATA',
    '/MCP',
    '/demo//data',
    '/demo/%64ata',
    '/x/../demo/data',
  ])('§4.6b — %s is no way around a stricter route for those who only need to be authenticated', async (path) => {
    const token = await service.apiToken({ scope: undefined });
    const raw = await service.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test', `Authorization: Bearer ${token}`);
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('the scope', () => {
  test.for([
    ['read', true],
    ['write read', true],
    ['read write', true],
    ['openid  read', true],
    ['', false],
    ['write', false],
    ['readonly', false],
    ['pre-read', false],
    ['Read', false],
    ['read,write', false],
    ['read\twrite', false],
    ['"read"', false],
    [undefined, false],
  ] as const)('§2.7/scope, §5.6 — split on spaces: %j passes: %s', async ([scope, passes]) => {
    const expected = passes ? [200, null] : [403, needsRead];
    expect(await get('/demo/data', { scope })).toEqual(expected);
    expect(await get(highWorth, { scope })).toEqual(expected);
  });

  test.for([[42], [{ read: true }], [true], [['read', 1]]])(
    '§2.7/scope — %j is no scope at all: the token is refused',
    async ([scope]) => {
      expect(await get('/demo/data', { scope })).toEqual([401, 'Bearer error="invalid_token"']);
    },
  );
});

describe('the risk score', () => {
  const accepted = [49, 0, -1, '49', '0', '-7', '007'];
  test.for(accepted)('§2.7/risk, §8.4, §5.6 — %j is an integer under 50', async (risk) => {
    expect(await get(highWorth, { risk })).toEqual([200, null]);
  });

  const numbers = [50, 51, 49.5, 1e308];
  const strings = [
    '50',
    '1000',
    '0x10',
    '0b1',
    '1e1',
    '49.0',
    '49.5',
    ' 49',
    '49 ',
    '+49',
    '',
    '-',
    'low',
    '４９',
    '4_9',
    'NaN',
  ];
  const others: readonly unknown[] = [null, true, false, [], [20], ['20'], {}, { valueOf: 20 }, undefined];
  const refused = [...numbers, ...strings, ...others].map((risk): readonly [unknown] => [risk]);
  test.for(refused)('§2.7/risk, §8.4, §5.6, §7.4 — %j is not', async ([risk]) => {
    expect(await get(highWorth, { risk })).toEqual([403, null]);
  });

  test.for(['1e999', '-1e999', '-9007199254740993', '49.00000000000001'])(
    '§2.7/risk — the number %s, which not every parser reads alike, is not',
    async (literal) => {
      const { key, url } = service.issuer;
      const exp = Math.floor(Date.now() / 1000) + 300;
      const json = `{"iss":"${url}","aud":"${apiAudience}","sub":"alice","scope":"read","exp":${exp},"risk":${literal}}`;
      const token = await new CompactSign(Buffer.from(json))
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt' })
        .sign(key.privateKey);
      expect(await service.send(highWorth, { token })).toMatchObject({ status: 403, challenge: null });
    },
  );
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

describe('refusals, byte for byte', () => {
  test('§7.3 — no token: 401, Bearer, an empty body', async () => {
    expect(await raw('/demo/data')).toBe(unauthorized('Bearer'));
  });

  test('§7.3 — a token that fails validation: 401, an empty body', async () => {
    expect(await raw('/demo/data', 'garbage')).toBe(unauthorized('Bearer error="invalid_token"'));
    expect(await raw('/', await service.apiToken({ exp: 1 }))).toBe(unauthorized('Bearer error="invalid_token"'));
  });

  test('§7.4 — the scope is missing: 403 and the scope that would mend it', async () => {
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

  test('§7.4 — the risk is too high: 403 without a challenge, since no scope would mend it', async () => {
    expect(await raw(highWorth, await service.apiToken({ risk: 50 }))).toBe(`HTTP/1.1 403 Forbidden
content-type: application/problem+json
cache-control: no-store
content-length: 112
x-request-id: …
date: …
connection: close

{"title":"Access denied","status":403,"reason":"claim.denied","decision":"…"}`);
  });

  test('§7.4 — scope and risk are both wrong: no challenge either, a new token would not help', async () => {
    expect(await get(highWorth, { scope: 'write', risk: 50 })).toEqual([403, null]);
  });
});
