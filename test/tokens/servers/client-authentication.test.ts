import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { basicCredentials, createClientAuthentication } from '../../../src/tokens/servers/client-authentication.ts';
import type { ClientCredentials } from '../../../src/core/model/authorization-server.ts';

const issuer = 'https://as.example/';
const now = 1_800_000_000_999;
const authenticate = createClientAuthentication(issuer, () => now);
const form = (): URLSearchParams => new URLSearchParams({ token: 't' });

const keys: Readonly<Record<string, ReturnType<typeof generateKeyPairSync>>> = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
  Ed25519: generateKeyPairSync('ed25519'),
};

function keyed(algorithm: string, keyId?: string): ClientCredentials {
  const key = keys[algorithm]?.privateKey;
  if (key === undefined) throw new TypeError(algorithm);
  return { clientId: 'gate way', clientAuth: 'private_key_jwt', key, algorithm, keyId };
}

async function assertionOf(credentials: ClientCredentials): Promise<string> {
  return (await authenticate(form(), credentials)).body.get('client_assertion') ?? '';
}

describe('a secret', () => {
  const secret = { clientId: 'a b', clientSecret: 'p:%&' };

  test('in the header, once for all requests', async () => {
    const credentials: ClientCredentials = { ...secret, clientAuth: 'client_secret_basic' };
    const one = await authenticate(form(), credentials);
    expect(one.headers).toEqual({ authorization: `Basic ${Buffer.from('a%20b:p%3A%25&').toString('base64')}` });
    expect(one.body.toString()).toBe('token=t');
    expect((await authenticate(form(), credentials)).headers).toBe(one.headers);
  });

  test('in the body, without a change of the given form', async () => {
    const given = form();
    const { body, headers } = await authenticate(given, { ...secret, clientAuth: 'client_secret_post' });
    expect(headers).toBeUndefined();
    expect(Object.fromEntries(body)).toEqual({ token: 't', client_id: 'a b', client_secret: 'p:%&' });
    expect(given.toString()).toBe('token=t');
  });
});

describe('Basic credentials, RFC 6749 §2.3.1', () => {
  const spelled = (id: string, secret: string): string =>
    Buffer.from(basicCredentials(id, secret).slice('Basic '.length), 'base64').toString();

  test('stay as they are where a server that does not form-decode reads the same', () => {
    const printable = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index));
    const plain = printable.filter((character) => !':%+'.includes(character)).join('');
    expect(spelled('front-door', plain)).toBe(`front-door:${plain}`);
  });

  test.for([
    ['a colon, which ends the id', ':', '%3A'],
    ['the signs of the encoding', '%+', '%25%2B'],
    ['a space', ' ', '%20'],
    ['control characters', '\0\t\r\n\x7f', '%00%09%0D%0A%7F'],
    ['all but ASCII', 'é€😀', '%C3%A9%E2%82%AC%F0%9F%98%80'],
    ['half a character', '\ud800', '%EF%BF%BD'],
  ] as const)('encode %s', ([, character, expected]) => {
    expect(spelled(character, character)).toBe(`${expected}:${expected}`);
    const decoded = decodeURIComponent(expected.replaceAll('+', ' '));
    expect(decoded, 'a server that form-decodes reads the value').toBe(character.toWellFormed());
  });
});

describe('a key', () => {
  test.each(Object.keys(keys))('signs with %s', async (algorithm) => {
    const jwt = await assertionOf(keyed(algorithm));
    const publicKey = keys[algorithm]?.publicKey;
    if (publicKey === undefined) throw new TypeError(algorithm);
    const { protectedHeader } = await jwtVerify(jwt, publicKey, { currentDate: new Date(now) });
    expect(protectedHeader.alg).toBe(algorithm);
  });

  test('names the client and the audience, and is valid for a minute', async () => {
    const { jti, ...claims } = decodeJwt(await assertionOf(keyed('ES256')));
    const iat = Math.floor(now / 1000);
    expect(claims).toEqual({ iss: 'gate way', sub: 'gate way', aud: issuer, iat, exp: iat + 60 });
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('gives each assertion an id of its own', async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => decodeJwt(await assertionOf(keyed('ES256'))).jti));
    expect(new Set(ids).size).toBe(3);
  });

  test('names the key id, if there is one', async () => {
    const typ = 'client-authentication+jwt';
    expect(decodeProtectedHeader(await assertionOf(keyed('ES256', 'k1')))).toEqual({ alg: 'ES256', typ, kid: 'k1' });
    expect(decodeProtectedHeader(await assertionOf(keyed('ES256')))).toEqual({ alg: 'ES256', typ });
  });

  test('is added to the form with the client id, without a header', async () => {
    const { body, headers } = await authenticate(form(), keyed('ES256'));
    expect(headers).toBeUndefined();
    expect(Object.fromEntries(body)).toEqual({
      token: 't',
      client_id: 'gate way',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: body.get('client_assertion'),
    });
  });
});
