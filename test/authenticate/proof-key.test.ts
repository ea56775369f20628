import { generateKeyPairSync } from 'node:crypto';
import * as fc from 'fast-check';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, test } from 'vitest';
import { proofKeyOf, thumbprintOf } from '../../src/authenticate/proof-key.ts';
import { Denial } from '../../src/model/denial.ts';

const algorithms = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
];

test.each(algorithms)('a key for %s, and the thumbprint that jose gives it', async (alg) => {
  const { publicKey } = await generateKeyPair(alg);
  const jwk = await exportJWK(publicKey);
  expect(thumbprintOf(proofKeyOf(jwk, alg))).toBe(await calculateJwkThumbprint(jwk, 'sha256'));
  const decorated = { use: 'sig', kid: 'k', ...jwk, alg, ext: true };
  expect(proofKeyOf(decorated, alg), 'without what is no part of it').toEqual(proofKeyOf(jwk, alg));
  for (const other of algorithms.filter((name) => name.slice(1, 2) !== alg.slice(1, 2))) {
    expect(() => proofKeyOf(jwk, other), `not for ${other}`).toThrow(Denial);
  }
});

test('the thumbprint of RFC 7638 §3.1', () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
  expect(thumbprintOf(proofKeyOf({ kty: 'RSA', n, e: 'AQAB', kid: '2011-04-29' }, 'RS256'))).toBe(
    'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  );
});

describe('refused', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const rsa = (modulusLength: number) =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
  const { d: _d, ...point } = ec;

  test.each([
    ['a private key', ec, 'ES256'],
    ['a member that only private keys have', { ...point, d: undefined }, 'ES256'],
    ['a symmetric one', { kty: 'oct', k: 'AAAA' }, 'HS256'],
    ['another curve', { ...point, crv: 'P-384' }, 'ES256'],
    ['a curve of another name', { ...point, crv: 'secp256k1' }, 'ES256'],
    ['no y', { ...point, y: undefined }, 'ES256'],
    ['an x that is no string', { ...point, x: [point.x] }, 'ES256'],
    ['an x with padding', { ...point, x: `${point.x}=` }, 'ES256'],
    ['an x in other letters', { ...point, x: '+'.repeat(43) }, 'ES256'],
    ['an x that begins with another letter', { ...point, x: `+${point.x?.slice(1)}` }, 'ES256'],
    ['an x that ends with another letter', { ...point, x: `${point.x?.slice(0, -1)}+` }, 'ES256'],
    ['1024 bits', rsa(1024), 'RS256'],
    ['an endless n', { kty: 'RSA', e: 'AQAB', n: 'A'.repeat(1369) }, 'RS256'],
    ['an endless e', { ...rsa(2048), e: 'A'.repeat(9) }, 'RS256'],
    ['an algorithm that is none', point, 'none'],
    ['an algorithm of Object.prototype', point, 'constructor'],
    ['a list', [point], 'ES256'],
    ['nothing', undefined, 'ES256'],
    ['null', null, 'ES256'],
    ['a string', 'x', 'ES256'],
  ])('%s', (_title, jwk, alg) => {
    expect(() => proofKeyOf(jwk, alg)).toThrow(expect.objectContaining({ reason: 'proof.invalid' }) as Error);
  });

  test.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])('%s, which only private keys have', (member) => {
    expect(() => proofKeyOf({ ...point, [member]: 'AAAA' }, 'ES256')).toThrow('has a private key');
  });

  test('anything else by a Denial', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...algorithms), (jwk, alg) => {
        expect(() => proofKeyOf(jwk, alg)).toThrow(Denial);
      }),
    );
  });
});
