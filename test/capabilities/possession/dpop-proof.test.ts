import { generateKeyPairSync } from 'node:crypto';
import * as fc from 'fast-check';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, test } from 'vitest';
import { proofKeyOf, readProof } from '../../../src/capabilities/possession/dpop-proof.ts';
import { keyThumbprint } from '../../../src/core/lib/digest.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import { property } from '../../support/property.ts';
import { words } from '../../support/words.ts';

const accepted = new Set(['ES256', 'RS256']);
const jwk = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) };
const header = { typ: 'dpop+jwt', alg: 'ES256', jwk };
const claims = { jti: 'one', htm: 'POST', htu: 'https://gateway.example/mcp', iat: 1_800_000_000 };

/** A proof that is sound but for its signature, which nobody has looked at yet. */
function proof(otherHeader: object = {}, otherClaims: object = {}, signature = 'AA'): string {
  const parts = [
    { ...header, ...otherHeader },
    { ...claims, ...otherClaims },
  ];
  return [...parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')), signature].join('.');
}

const invalid: Error = expect.objectContaining({ reason: 'proof.invalid' }) as Error;

describe('RFC 9449 §4.2 — the members of a proof', () => {
  test('are read unchanged', () => {
    const text = proof({}, { jti: 'x'.repeat(256), ath: 'hash', nonce: 'of ours' });
    expect(readProof(text, accepted)).toEqual({
      text,
      algorithm: 'ES256',
      key: jwk,
      id: 'x'.repeat(256),
      method: 'POST',
      target: 'https://gateway.example/mcp',
      issuedAtMs: 1_800_000_000_000,
      tokenHash: 'hash',
      nonce: 'of ours',
    });
  });

  test('ath and nonce count only as strings', () => {
    for (const other of [undefined, null, 5, ['hash'], {}]) {
      const read = readProof(proof({}, { ath: other, nonce: other }), accepted);
      expect([read.tokenHash, read.nonce]).toEqual([undefined, undefined]);
    }
  });

  test('may be before the epoch, and have a fraction', () => {
    expect(readProof(proof({}, { iat: -0.5 }), accepted).issuedAtMs).toBe(-500);
  });
});

describe('RFC 9449 §4.3 — refuses as a proof', () => {
  test.for(
    [
      ['', 'x', 'a.b', 'a.b.c', 'a.b.c.d.e', '..'],
      [`${proof()}, ${proof()}`, `${proof()} `, ` ${proof()}`, `${proof()}=`, `${proof()}.`, `.${proof()}`],
      [proof({}, {}, ''), `.${proof().split('.').slice(1).join('.')}`, proof().replace(/\..*\./, '..')],
    ].flat(),
  )('2: a single well-formed JWT: %j', (text) => {
    expect(() => readProof(text, accepted)).toThrow(invalid);
  });

  test('2: with a cause for the operator', () => {
    expect(() => readProof('a.b.c', accepted)).toThrow(
      expect.objectContaining({ cause: expect.any(Error) as unknown }),
    );
  });

  test('2: a JWT of more than 8192 characters', () => {
    const rest = proof({}, {}, '').length;
    expect(readProof(proof({}, {}, 'A'.repeat(8192 - rest)), accepted).id).toBe('one');
    expect(() => readProof(proof({}, {}, 'A'.repeat(8193 - rest)), accepted)).toThrow(invalid);
  });

  type Member = [name: string, value: unknown];
  test.each<Member>([
    ...[undefined, null, 5, {}, ['x'], '', 'x'.repeat(257)].map((value): Member => ['jti', value]),
    ...[undefined, null, {}, ['POST']].map((value): Member => ['htm', value]),
    ...[undefined, null, {}].map((value): Member => ['htu', value]),
    ...[undefined, null, {}, '1800000000', [1_800_000_000]].map((value): Member => ['iat', value]),
  ])('3: a %s that is %j', (name, value) => {
    expect(() => readProof(proof({}, { [name]: value }), accepted)).toThrow(invalid);
  });

  test('3: an infinite iat', () => {
    for (const iat of ['1e999', '-1e999']) {
      const text = JSON.stringify(claims).replace('1800000000', iat);
      const forged = proof().replace(/\..*\./, `.${Buffer.from(text).toString('base64url')}.`);
      expect(() => readProof(forged, accepted)).toThrow(invalid);
    }
  });

  test.for([undefined, null, 'JWT', 'at+jwt', 'DPoP+jwt', 'application/dpop+jwt', ''])('4: typ %j', (typ) => {
    expect(() => readProof(proof({ typ }), accepted)).toThrow(invalid);
  });

  test.each([[['b64']], [[]], [null], ['exp']])('RFC 7515 §4.1.11: crit %j', (crit) => {
    expect(() => readProof(proof({ crit }), accepted)).toThrow(invalid);
  });

  test.for([undefined, null, 'none', 'HS256', 'ES384', 'es256', ['ES256']])('5: alg %j', (alg) => {
    for (const signature of ['AA', '']) {
      expect(() => readProof(proof({ alg }, {}, signature), accepted)).toThrow(invalid);
    }
  });

  test('5: a supported alg that the route does not accept', () => {
    const other = { kty: 'EC', crv: 'P-384', x: 'x'.repeat(64), y: 'y'.repeat(64) };
    const text = proof({ alg: 'ES384', jwk: other });
    expect(readProof(text, new Set(['ES384'])).key).toEqual(other);
    expect(() => readProof(text, accepted)).toThrow(invalid);
  });

  test.for([undefined, { ...jwk, d: 'd' }, { ...jwk, kty: 'oct', k: 'k' }, { ...jwk, crv: 'P-384' }])(
    '7: jwk %j',
    (other) => {
      expect(() => readProof(proof({ jwk: other }), accepted)).toThrow(invalid);
    },
  );
});

const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
/** Made once: it takes long. */
const usualRsa = rsa(2048);

const algorithms = words('ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512');

test.each(algorithms)('a key for %s, and the thumbprint that jose gives it', async (alg) => {
  const jwk = /^[PR]S/.test(alg) ? usualRsa : await exportJWK((await generateKeyPair(alg)).publicKey);
  expect(keyThumbprint(proofKeyOf(jwk, alg))).toBe(await calculateJwkThumbprint(jwk, 'sha256'));
  const decorated = { use: 'sig', kid: 'k', ...jwk, alg, ext: true };
  expect(proofKeyOf(decorated, alg), 'without what is no part of it').toEqual(proofKeyOf(jwk, alg));
  for (const other of algorithms.filter((name) => name.slice(1, 2) !== alg.slice(1, 2))) {
    expect(() => proofKeyOf(jwk, other), `not for ${other}`).toThrow(Denial);
  }
});

test('the thumbprint of RFC 7638 §3.1', () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
  expect(keyThumbprint(proofKeyOf({ kty: 'RSA', n, e: 'AQAB', kid: '2011-04-29' }, 'RS256'))).toBe(
    'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  );
});

describe('refuses as a key', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const { d: _d, ...point } = ec;

  test.each([
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
    ['an endless e', { ...usualRsa, e: 'A'.repeat(9) }, 'RS256'],
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

  property('anything else with a Denial', [fc.jsonValue(), fc.constantFrom(...algorithms)], (jwk, alg) => {
    expect(() => proofKeyOf(jwk, alg)).toThrow(Denial);
  });
});
