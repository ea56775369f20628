import { describe, expect, test } from 'vitest';
import { readProof } from '../../src/authenticate/dpop-proof.ts';

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

describe('RFC 9449 §4.2 — what a proof says', () => {
  test('is read as it stands', () => {
    const text = proof({}, { ath: 'hash', nonce: 'of ours' });
    expect(readProof(text, accepted)).toEqual({
      text,
      algorithm: 'ES256',
      key: jwk,
      id: 'one',
      method: 'POST',
      target: 'https://gateway.example/mcp',
      issuedAtMs: 1_800_000_000_000,
      tokenHash: 'hash',
      nonce: 'of ours',
    });
  });

  test('of ath and nonce only what is a string: the check that wants them finds none', () => {
    for (const other of [undefined, null, 5, ['hash'], {}]) {
      const read = readProof(proof({}, { ath: other, nonce: other }), accepted);
      expect([read.tokenHash, read.nonce]).toEqual([undefined, undefined]);
    }
  });

  test('may be before the epoch, and have a fraction', () => {
    expect(readProof(proof({}, { iat: -0.5 }), accepted).issuedAtMs).toBe(-500);
  });
});

describe('RFC 9449 §4.3 — no proof', () => {
  test.each([
    [''],
    ['x'],
    ['a.b'],
    ['a.b.c'],
    ['a.b.c.d.e'],
    ['..'],
    [`${proof()}, ${proof()}`],
    [`${proof()} `],
    [` ${proof()}`],
    [`${proof()}=`],
    [`${proof()}.`],
    [`.${proof()}`],
    [proof({}, {}, '')],
    [`.${proof().split('.').slice(1).join('.')}`],
    [proof().replace(/\..*\./, '..')],
  ])('2: a single well-formed JWT: %j', (text) => {
    expect(() => readProof(text, accepted)).toThrow(invalid);
  });

  test('2: nor one of more than 8192 characters', () => {
    const rest = proof({}, {}, '').length;
    expect(readProof(proof({}, {}, 'A'.repeat(8192 - rest)), accepted).id).toBe('one');
    expect(() => readProof(proof({}, {}, 'A'.repeat(8193 - rest)), accepted)).toThrow(invalid);
  });

  test.each([
    ['jti', undefined],
    ['jti', null],
    ['jti', 5],
    ['jti', ['x']],
    ['jti', ''],
    ['jti', 'x'.repeat(257)],
    ['htm', undefined],
    ['htm', ['POST']],
    ['htu', undefined],
    ['htu', {}],
    ['iat', undefined],
    ['iat', null],
    ['iat', '1800000000'],
    ['iat', [1_800_000_000]],
  ])('3: a %s that is %j', (name, value) => {
    expect(() => readProof(proof({}, { [name]: value }), accepted)).toThrow(invalid);
  });

  test('3: an iat that no clock will ever pass', () => {
    for (const iat of ['1e999', '-1e999']) {
      const text = JSON.stringify(claims).replace('1800000000', iat);
      const forged = proof().replace(/\..*\./, `.${Buffer.from(text).toString('base64url')}.`);
      expect(() => readProof(forged, accepted)).toThrow(invalid);
    }
  });

  test('3: a jti of 256 characters is one', () => {
    expect(readProof(proof({}, { jti: 'x'.repeat(256) }), accepted).id).toHaveLength(256);
  });

  test.for([undefined, null, 'JWT', 'at+jwt', 'DPoP+jwt', 'application/dpop+jwt', ''])('4: typ %j', (typ) => {
    expect(() => readProof(proof({ typ }), accepted)).toThrow(invalid);
  });

  test.each([[['b64']], [[]], [null], ['exp']])('RFC 7515 §4.1.11: crit %j', (crit) => {
    expect(() => readProof(proof({ crit }), accepted)).toThrow(invalid);
  });

  test.for([undefined, null, 'none', 'HS256', 'ES384', 'es256', ['ES256']])('5: alg %j', (alg) => {
    expect(() => readProof(proof({ alg }), accepted)).toThrow(invalid);
  });

  test('5: nor one that has a key of its own, where it is not accepted', () => {
    const other = { kty: 'EC', crv: 'P-384', x: 'x'.repeat(64), y: 'y'.repeat(64) };
    const text = proof({ alg: 'ES384', jwk: other });
    expect(readProof(text, new Set(['ES384'])).key).toEqual(other);
    expect(() => readProof(text, accepted)).toThrow(invalid);
  });

  test('and jose’s error says why it is no JWT', () => {
    expect(() => readProof('a.b.c', accepted)).toThrow(
      expect.objectContaining({ cause: expect.any(Error) as unknown }) as Error,
    );
  });

  test.for([undefined, { ...jwk, d: 'd' }, { ...jwk, kty: 'oct', k: 'k' }, { ...jwk, crv: 'P-384' }])(
    '7: jwk %j',
    (other) => {
      expect(() => readProof(proof({ jwk: other }), accepted)).toThrow(invalid);
    },
  );
});
