import * as fc from 'fast-check';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { claimedIssuer, createJwtVerifier, isEncrypted, requireAlgorithm, requireType } from '../../src/tokens/jwt.ts';
import { parseExactly } from '../../src/core/lib/json/lossless.ts';
import type { AuthorizationServer, JwtValidation } from '../../src/core/model/authorization-server.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import { createKey } from '../support/issuer.ts';
import { runs } from '../support/runs.ts';
import { words } from '../support/words.ts';
import { fixedKeys } from '../worlds/keys.ts';

const issuer = 'https://as.example';
const now = 1_800_000_000;
const one = await createKey('k1', 'ES256');
const two = await createKey('k2', 'ES256');
const stranger = await createKey('k3', 'ES256');
const published = fixedKeys(createLocalJWKSet({ keys: [one.publicJwk, two.publicJwk] }));
const accepted: JwtValidation = { algorithms: ['ES256'], types: undefined, jwksUri: undefined };

function serverWith(jwt: JwtValidation | undefined): AuthorizationServer {
  return { name: 'main', issuer, jwt, clockToleranceMs: 5_000 } as AuthorizationServer;
}

function verify(token: string, types?: readonly string[], keys = published): Promise<Principal> {
  return createJwtVerifier(serverWith({ ...accepted, types }), keys, new Map(), () => now * 1000)(token);
}

function sign(claims: object = {}, header: object = {}, by = one): Promise<string> {
  return new SignJWT({ iss: issuer, exp: now + 60, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: by.kid, ...header })
    .sign(by.privateKey);
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs what {@link SignJWT} refuses to sign. */
async function forge(claims: object, header: object): Promise<string> {
  const input = [
    { alg: 'ES256', kid: 'k1', ...header },
    { iss: issuer, exp: now + 60, ...claims },
  ]
    .map(part)
    .join('.');
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, one.privateKey, Buffer.from(input));
  return `${input}.${Buffer.from(signature).toString('base64url')}`;
}

const refused = (reason: string): Error => expect.objectContaining({ reason }) as Error;

describe('RFC 7515 §4.1.9 — typ', () => {
  test.each([
    [undefined, ''],
    ['JWT', 'jwt'],
    ['at+jwt', 'at+jwt'],
    ['AT+JWT', 'at+jwt'],
    ['application/at+jwt', 'at+jwt'],
    ['Application/AT+JWT', 'at+jwt'],
  ])('%j is %j', async (typ, type) => {
    expect((await verify(await sign({}, { typ }))).signature).toEqual({ algorithm: 'ES256', type });
  });

  test.each([
    ' at+jwt',
    ...words(`
    aapplication/t+jwt application/application/at+jwt text/at+jwt at+jwt;x logout+jwt dpop+jwt
    token-introspection+jwt oauth-authz-req+jwt secevent+jwt rt+jwt client-authentication+jwt`),
  ])('%j is another type', async (typ) => {
    await expect(verify(await sign({}, { typ }))).rejects.toThrow(refused('token.type'));
  });

  test.for([5, null, {}, [], ['at+jwt'], true])('%j is no typ', async (typ) => {
    await expect(verify(await sign({}, { typ }))).rejects.toThrow(refused('token.malformed'));
  });

  test('at+jwt declares an access token', async () => {
    await expect(verify(await sign({ nonce: 'n' }, { typ: 'at+jwt' }))).resolves.toMatchObject({ form: 'jwt' });
    await expect(verify(await sign({ nonce: 'n' }, { typ: 'JWT' }))).rejects.toThrow(refused('token.type'));
    await expect(verify(await sign({}, { typ: 'JWT' }), ['at+jwt'])).rejects.toThrow(refused('token.type'));
  });
});

test('RFC 7515 §2 — refuses other spellings of a signature, which would fill the cache', async () => {
  const token = await sign();
  const [head, signature] = [token.slice(0, -86), token.slice(-86)];
  await expect(verify(head + signature)).resolves.toBeDefined();
  const last = signature.at(-1) ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  // 64 octets: four bits of the last letter mean nothing.
  const spare = alphabet.charAt(alphabet.indexOf(last) + 1);
  for (const other of [`${signature}=`, `${signature}==`, ` ${signature}`, signature.slice(0, -1) + spare]) {
    await expect(verify(head + other)).rejects.toThrow(refused('token.malformed'));
  }
});

type Invalid = [reason: string, claims: object, header: object];

test.for<Invalid>([
  ...[undefined, String(now + 60), null, [now + 60], true].map((exp): Invalid => ['token.claims', { exp }, {}]),
  ['token.claims', { iat: 'now' }, {}],
  ['token.claims', { nbf: '0' }, {}],
  ...[now - 5, 1, -now].map((exp): Invalid => ['token.expired', { exp }, {}]),
  ['token.not_yet_valid', { nbf: 99_999_999_999 }, {}],
  ['token.not_yet_valid', { nbf: now + 6 }, {}],
  ...[
    [`${issuer}/`, `${issuer}#`, `${issuer}?`, `${issuer} `, issuer.toUpperCase(), issuer.slice(0, -1)],
    words('http://as.example https://as.example:443 https://x@as.example https://as.example/. as.example'),
    ['https://evil.example', '', undefined, null, 0, [issuer], { toString: issuer }],
  ]
    .flat()
    .map((iss): Invalid => ['token.issuer', { iss }, {}]),
  ['token.malformed', {}, { b64: false, crit: ['b64'] }],
  ['token.algorithm', {}, { alg: 'ES384' }],
  ['token.signature', {}, { kid: 'k2' }],
])('RFC 9068 §4 — each invalid token has its own reason: %s: %j %j', async ([reason, claims, header]) => {
  const cause = expect.any(Error) as unknown;
  await expect(verify(await forge(claims, header))).rejects.toMatchObject({ reason, cause });
});

const absent = { sub: null, client_id: null, azp: null, scope: null, scp: null, iat: null, nbf: null, acr: null };

test('null is absent in a JWT', async () => {
  const { claims, ...principal } = await verify(await forge(absent, {}));
  expect(await verify(await forge({}, {}))).toMatchObject(principal);
  expect(claims).toMatchObject({ sub: null, acr: null });
});

/** A time that JavaScript reads as infinite. */
function endless(name: string): object {
  return parseExactly(`{"${name}":1e999}`) as object;
}

test.for<Invalid>([
  ['token.expired', { nbf: null, exp: now - 5 }, {}],
  ['token.not_yet_valid', { iat: null, nbf: now + 6 }, {}],
  ['token.claims', { nbf: null, exp: null }, {}],
  ['token.claims', { iat: null, nbf: '0' }, {}],
  ['token.claims', { iat: null, ...endless('exp') }, {}],
  ['token.not_yet_valid', endless('nbf'), {}],
  ['token.issuer', { nbf: null, iss: null }, {}],
  ['token.audience', { nbf: null, aud: null }, {}],
  ['token.sender_constrained', { iat: null, cnf: null }, {}],
  ['token.sender_constrained', { iat: null, cnf: { jkt: null } }, {}],
  ['token.signature', { nbf: null }, { kid: 'k2' }],
])('null beside another fault does not hide it: %s: %j', async ([reason, claims, header]) => {
  await expect(verify(await forge(claims, header))).rejects.toMatchObject({ reason });
});

test('a server without jwt accepts no algorithm, and the usual types', () => {
  const signature = { algorithm: 'ES256', type: 'jwt' };
  const denial = expect.objectContaining({ reason: 'token.algorithm', detail: 'alg is "ES256"; accepted: ' }) as Error;
  expect(() => requireAlgorithm(signature, undefined)).toThrow(denial);
  expect(() => requireType(signature, undefined)).not.toThrow();
});

describe('RFC 7515 §4.1.4 — without kid', () => {
  test('any published key may verify it, and no other', async () => {
    for (const key of [one, two]) await expect(verify(await sign({}, { kid: undefined }, key))).resolves.toBeDefined();
    await expect(verify(await sign({}, { kid: undefined }, stranger))).rejects.toThrow(refused('token.signature'));
  });

  test('an invalid token by the right key keeps its own reason', async () => {
    for (const key of [one, two]) {
      const token = await sign({ exp: now - 6 }, { kid: undefined }, key);
      await expect(verify(token)).rejects.toThrow(refused('token.expired'));
    }
  });
});

describe('a refusal', () => {
  test.for<[claims: object, header: object, detail: string]>([
    [{ iss: [issuer] }, {}, 'iss is an array of 1; accepted: "https://as.example"'],
    [{ exp: now - 65 }, {}, 'exp is 65 s ago; clock_tolerance is 5 s'],
    [{ exp: undefined }, {}, 'missing required "exp" claim, found nothing'],
    [{ exp: 'soon' }, {}, '"exp" claim must be a number, found "soon"'],
    [{ nbf: now + 6 }, {}, 'nbf is 6 s ahead; clock_tolerance is 5 s'],
    [{ iat: [now] }, {}, '"iat" claim must be a number, found an array of 1'],
    [{ sub: ['alice'] }, {}, 'sub is an array of 1; it must be a string that is not empty'],
    [{}, { typ: 'x+jwt' }, 'typ is "x+jwt"; accepted: "at+jwt", "jwt", none'],
    [{}, { kid: 'k9' }, 'no applicable key found in the JSON Web Key Set'],
  ])('says what it found and what is accepted: %j %j', async ([claims, header, detail]) => {
    await expect(verify(await forge(claims, header))).rejects.toMatchObject({ detail });
  });

  test('says the algorithm that a JWT declares, also for one without signature', async () => {
    const jwtBy = (alg: string): string => `${part({ alg })}.${part({ iss: issuer, exp: now + 60 })}.`;
    for (const alg of ['none', 'HS256', 'ES384']) {
      const detail = `alg is "${alg}"; accepted: "ES256"`;
      await expect(verify(jwtBy(alg))).rejects.toMatchObject({ reason: 'token.algorithm', detail });
    }
  });

  test('does not hide a bug', async () => {
    const bug = new TypeError('ours');
    const broken = fixedKeys(() => Promise.reject(bug));
    await expect(verify(await sign(), undefined, broken)).rejects.toBe(bug);
  });

  test('a server without jwt has no verifier', () => {
    expect(() => createJwtVerifier(serverWith(undefined), published, new Map(), () => 0)).toThrow('main has no jwt');
  });
});

test.each([
  ['a JWE', `${part({ alg: 'dir', enc: 'A256GCM' })}.a.b.c.d`, true],
  ['no enc', `${part({ alg: 'dir' })}.a.b.c.d`, false],
  ['an enc that is no name', `${part({ enc: 5 })}.a.b.c.d`, false],
  ['three parts', `${part({ enc: 'A256GCM' })}.a.b`, false],
  ['five parts that are no JSON', 'a.b.c.d.e', false],
])('R-214, RFC 7516 §3.1: whether a token is encrypted: %s', (_what, token, expected) => {
  expect(isEncrypted(token)).toBe(expected);
});

describe('the claimed issuer', () => {
  const header = part({ alg: 'RS256' });
  const claims = part({ iss: 'http://a' });

  test.each([
    ['a JWT', `${header}.${claims}.x`, 'http://a'],
    ['a JWT without issuer', `${header}.${part({})}.x`, ''],
    ['a JWT without signature', `${part({ alg: 'none' })}.${claims}.`, 'http://a'],
    ['an opaque token', 'abc', undefined],
    ['an opaque token with two dots', 'a.b.c', undefined],
    ['one with nothing between its dots', 'a..c', undefined],
    ['two dots alone', '..', undefined],
    ['five parts that are no JWE', 'a.b.c.d.e', undefined],
    ['the beginning of a JWT', 'ey', undefined],
    ['one whose parts are JSON without alg', `${part({ a: 1 })}.${claims}.x`, undefined],
    ['one whose alg is no name', `${part({ alg: 1 })}.${claims}.x`, undefined],
    ['one without header', `.${claims}.x`, undefined],
    ['one without claims', `${header}..x`, undefined],
    ['one whose claims are a list', `${header}.${part(['http://a'])}.x`, undefined],
    ['one whose claims are not JSON', `${header}.${claims.slice(0, -3)}.x`, undefined],
    ['two parts of a JWT', `${header}.${claims}`, undefined],
    ['four', `${header}.${claims}.x.x`, undefined],
    ['a JWE', `${part({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`, undefined],
  ])('%s', (_, token, expected) => {
    expect(claimedIssuer(token)).toBe(expected);
  });

  test('is the one that jose reads', () => {
    const alg = fc.record({ alg: fc.oneof(fc.string(), fc.jsonValue()) });
    const iss = fc.record({ iss: fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.jsonValue()) });
    const ofJose = (token: string): string | undefined => {
      try {
        return typeof decodeProtectedHeader(token).alg === 'string' ? (decodeJwt(token).iss ?? '') : undefined;
      } catch {
        return undefined;
      }
    };
    fc.assert(
      fc.property(fc.oneof(alg, fc.jsonValue()), fc.oneof(iss, fc.jsonValue()), (protectedHeader, payload) => {
        const token = `${part(protectedHeader)}.${part(payload)}.x`;
        expect(claimedIssuer(token)).toEqual(ofJose(token));
      }),
      { numRuns: runs },
    );
  });
});
