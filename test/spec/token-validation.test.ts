import { KeyObject, sign } from 'node:crypto';
import { exportSPKI, importJWK, type CryptoKey } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../support/issuer.ts';
import { forgedToken, hmacWith } from './forged-token.ts';
import { apiAudience, startService, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const accepted = { status: 200, challenge: null };
const refused = { status: 401, challenge: 'Bearer error="invalid_token"', text: '' };

/** `/demo/data` for a good token, and the reason in the log for any other. */
async function present(token: string): Promise<object> {
  const { status, challenge, text } = await service.send('/demo/data', { token });
  return status === 200 ? { status, challenge } : { status, challenge, text };
}

async function reason(): Promise<unknown> {
  return (await service.gateway.decision())['reason'];
}

function goodClaims(): Record<string, unknown> {
  const exp = Math.floor(Date.now() / 1000) + 300;
  return { iss: service.issuer.url, aud: apiAudience, sub: 'alice', scope: 'read', exp };
}

test('R-39: accepts a valid JWT', async () => {
  expect(await present(await service.apiToken())).toEqual(accepted);
});

describe('the issuer', () => {
  test.for([
    ['another one with the same key', 'https://evil.example'],
    ['with a slash', (url: string) => `${url}/`],
    ['in capitals', (url: string) => url.toUpperCase()],
    ['a prefix', (url: string) => url.slice(0, -1)],
    ['as a list', (url: string) => [url]],
    ['absent', undefined],
    ['empty', ''],
    ['null', null],
  ] as const)('R-40: refuses an issuer: %s', async ([, iss]) => {
    const value = typeof iss === 'function' ? iss(service.issuer.url) : iss;
    expect(await present(await service.apiToken({ iss: value }))).toEqual(refused);
  });

  test('R-40: refuses the right issuer with a key that it did not publish', async () => {
    const stranger = await createKey('k1');
    expect(await present(await service.apiToken({}, { key: stranger }))).toEqual(refused);
    expect(await reason()).toBe('token.signature');
  });

  test('R-41: fetches the keys from the jwks_uri of the metadata', async () => {
    expect(await present(await service.apiToken())).toEqual(accepted);
    const paths = service.issuer.requests.map(({ path }) => path);
    expect(paths).toContain('/.well-known/oauth-authorization-server');
    expect(paths).toContain('/jwks');
  });
});

describe('the audience', () => {
  test.for([[apiAudience], [[apiAudience]], [['https://other.example', apiAudience]]])(
    'R-42: accepts the audience %j',
    async ([aud]) => {
      expect(await present(await service.apiToken({ aud }))).toEqual(accepted);
    },
  );

  test.for([
    [undefined],
    [null],
    [''],
    [[]],
    [{}],
    [{ [apiAudience]: true }],
    [42],
    ['https://other.example'],
    [`${apiAudience}/`],
    [`${apiAudience}.evil.example`],
    [apiAudience.slice(0, -1)],
    [apiAudience.toUpperCase()],
    [` ${apiAudience}`],
    [`${apiAudience} https://other.example`],
    [[[apiAudience]]],
    [[apiAudience, 42]],
  ])('R-42: refuses the audience %j', async ([aud]) => {
    expect(await present(await service.apiToken({ aud }))).toEqual(refused);
  });
});

describe('the algorithm', () => {
  test.for(['none', 'None', 'NONE', ''])('R-43: refuses an unsigned token with alg %j', async (alg) => {
    expect(await present(forgedToken({ alg, typ: 'at+jwt' }, goodClaims()))).toEqual(refused);
  });

  test('R-43: refuses an unsigned token that names a key', async () => {
    expect(await present(forgedToken({ alg: 'none', kid: 'k1', typ: 'at+jwt' }, goodClaims()))).toEqual(refused);
  });

  test('R-43: refuses HS256 with the public key as the secret', async () => {
    const { publicJwk } = service.issuer.key;
    const pem = await exportSPKI((await importJWK(publicJwk, 'RS256')) as CryptoKey);
    for (const secret of [pem, pem.trim(), JSON.stringify(publicJwk), Buffer.from(publicJwk.n ?? '', 'base64url')]) {
      const token = forgedToken({ alg: 'HS256', kid: 'k1', typ: 'at+jwt' }, goodClaims(), hmacWith(secret));
      expect(await present(token)).toEqual(refused);
    }
    expect(await reason()).toBe('token.algorithm');
  });

  test.for(['PS256', 'RS512', 'ES256', 'EdDSA'])('R-43: refuses %s, even with a published key', async (alg) => {
    const key = await createKey(`key-${alg}`, alg);
    service.issuer.keys = [...service.issuer.keys, key.publicJwk];
    expect(await present(await service.apiToken({}, { key }))).toEqual(refused);
    expect(await reason()).toBe('token.algorithm');
  });

  test('R-43: ignores a key in the token itself', async () => {
    const key = await createKey('k1');
    const embedded = { jwk: key.publicJwk, jku: 'https://evil.example/jwks', x5u: 'https://evil.example/x5u' };
    expect(await present(await service.apiToken({}, { key, header: embedded }))).toEqual(refused);
    expect(await present(await service.apiToken({}, { key, header: { ...embedded, kid: undefined } }))).toEqual(
      refused,
    );
  });

  test('R-39: refuses a critical extension that it does not know', async () => {
    const privateKey = KeyObject.from(service.issuer.key.privateKey);
    const signed = (input: string): string => sign('sha256', Buffer.from(input), privateKey).toString('base64url');
    const header = { alg: 'RS256', kid: 'k1', typ: 'at+jwt' };
    const critical = forgedToken({ ...header, crit: ['x-bound'], 'x-bound': true }, goodClaims(), signed);
    expect(await present(forgedToken(header, goodClaims(), signed))).toEqual(accepted);
    expect(await present(critical)).toEqual(refused);
  });

  test('R-39: refuses one changed byte of header, claims or signature', async () => {
    const parts = (await service.apiToken()).split('.');
    for (const index of [0, 1, 2]) {
      const part = parts[index] ?? '';
      const changed = part.slice(0, 20) + (part[20] === 'A' ? 'B' : 'A') + part.slice(21);
      expect(await present(parts.with(index, changed).join('.'))).toEqual(refused);
    }
  });

  test.for(['a', 'a.b.c', '..', 'a..c', 'a.b.c.d.e', 'ey', '%00', 'token extra', '"quoted"'])(
    'R-39: refuses %j as a token',
    async (token) => {
      expect(await present(token)).toEqual(refused);
    },
  );
});

function now(): number {
  return Math.floor(Date.now() / 1000);
}

describe('the lifetime', () => {
  test.for([
    ['has expired', () => ({ exp: now() - 60 })],
    ['has no exp', () => ({ exp: undefined })],
    ['has a string as exp', () => ({ exp: String(now() + 300) })],
    ['has null as exp', () => ({ exp: null })],
    ['begins later', () => ({ nbf: now() + 60 })],
    ['has a string as nbf', () => ({ nbf: 'now' })],
  ] as const)('R-45: refuses a token that %s', async ([, claims]) => {
    expect(await present(await service.apiToken(claims()))).toEqual(refused);
  });

  test('R-45: lets clocks differ by five seconds and no more', async () => {
    expect(await present(await service.apiToken({ exp: now() - 2 }))).toEqual(accepted);
    expect(await present(await service.apiToken({ exp: now() - 7 }))).toEqual(refused);
    expect(await present(await service.apiToken({ nbf: now() + 3 }))).toEqual(accepted);
  });
});

describe('tokens of another kind', () => {
  test.for([
    ['an ID token', { nonce: 'n', at_hash: 'h' }, 'JWT'],
    ['an ID token of a hybrid flow', { c_hash: 'h' }, undefined],
    ['a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }, 'JWT'],
    ['a logout token that says so', { events: {} }, 'logout+jwt'],
    ['a refresh token of Keycloak', { typ: 'Refresh' }, 'JWT'],
    ['an ID token of Keycloak', { typ: 'ID' }, 'JWT'],
    ['a DPoP proof', {}, 'dpop+jwt'],
    ['a client assertion', {}, 'client-authentication+jwt'],
    ['a token bound to a key', { cnf: { jkt: 'x' } }, 'at+jwt'],
    ['a token bound to a certificate', { cnf: { 'x5t#S256': 'x' } }, 'JWT'],
  ] as const)('R-46, R-67: refuses %s, although all else is valid', async ([, claims, typ]) => {
    expect(await present(await service.apiToken(claims, { header: { typ } }))).toEqual(refused);
  });

  test.for(['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT', undefined])('R-46: accepts typ %j', async (typ) => {
    expect(await present(await service.apiToken({}, { header: { typ } }))).toEqual(accepted);
  });
});
