import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { keyFlaw, readJwkSet } from '../../../src/tokens/servers/jwk-set.ts';

const good = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const edwards = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const exponent = (value: number): object => ({
  ...good,
  e: Buffer.from(value.toString(16).padStart(8, '0'), 'hex').toString('base64url'),
});
const modulus = (hex: string): object => ({
  ...good,
  n: Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url'),
});
const numberOf = (jwk: object): bigint =>
  BigInt(`0x${Buffer.from(Reflect.get(jwk, 'n') as string, 'base64url').toString('hex')}`);

/** A modulus as the flawed library made them: each prime is k * M + (65537^a mod M), M the product of the primes. */
function rocaModulus(): string {
  const primes = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103]
    .concat([107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167])
    .map(BigInt);
  const product = primes.reduce((all, each) => all * each, 2n);
  const power = Array.from({ length: 1234 }).reduce<bigint>((all) => (all * 65_537n) % product, 1n);
  // Primality plays no part in the fingerprint.
  const factor = ((1n << 1025n) / product) * product + power;
  return (factor * (factor + product * 2n)).toString(16);
}

describe('a key that others can sign for has a flaw', () => {
  test.for<[what: string, jwk: object, flaw: RegExp]>([
    ['exponent 1', exponent(1), /^has the exponent 1, an odd one of at least 3 is required$/],
    ['exponent 0', exponent(0), /^has the exponent 0/],
    ['exponent 2', exponent(2), /^has the exponent 2/],
    ['an even exponent', exponent(65_536), /^has the exponent 65536/],
    ['a large even exponent', exponent(0x7ffffffe), /^has the exponent of an even number/],
    ['no exponent', { ...good, e: '' }, /^has the exponent 0/],
    ['2047 bits', modulus('5'.padEnd(512, '5')), /^has only 2047 bits, 2048 are required$/],
    ['leading zeros', modulus(`00${'f'.repeat(256)}`), /^has only 1024 bits/],
    ['no modulus', { ...good, n: '' }, /^has only 1 bits/],
    ['an even modulus', modulus((numberOf(good) + 1n).toString(16)), /^has a modulus with a small factor$/],
    ['a factor of 3', modulus((numberOf(good) * 3n).toString(16)), /small factor/],
    ['a factor of 167', modulus((numberOf(good) * 167n).toString(16)), /small factor/],
    ['ROCA', modulus(rocaModulus()), /ROCA/],
    ['more than 16384 bits', modulus('f'.repeat(4098)), /^has more than 16384 bits$/],
    ['an exponent of more', { ...good, e: 'f'.repeat(2732) }, /^has more than 16384 bits$/],
    ['its private RSA part', { ...good, d: 'AQ' }, /^is published with its private part$/],
    ['its private EC part', { ...curve, d: 'AQ' }, /private part/],
  ])('%s', ([, jwk, flaw]) => {
    expect(keyFlaw(jwk as never)).toMatch(flaw);
  });

  test.for<[what: string, jwk: object]>([
    ['65537', good],
    ['exponent 3', exponent(3)],
    ['a curve', curve],
    ['Ed25519', edwards],
    ['null in place of a private part', { ...good, d: null }],
    ['members of other types', { kty: 'RSA', n: 1, e: [] }],
    ['an unknown kind', { kty: 'AKP' }],
  ])('and not with %s', ([, jwk]) => {
    expect(keyFlaw(jwk as never)).toBeUndefined();
  });
});

describe('a JWK Set', () => {
  const key = { ...good, kid: 'k1' };

  test.for<[what: string, list: readonly unknown[], used: readonly unknown[]]>([
    ['null', [null, key], [key]],
    ['a text, a number and a list', ['k', 1, [key], key], [key]],
    ['an unknown kind', [{ kty: 'AKP' }, key], [{ kty: 'AKP' }, key]],
    ['a key with a flaw', [{ ...exponent(1), kid: 'k0' }, key], [key]],
    ['nothing', [], []],
  ])('with %s keeps its other keys', ([, keys, used]) => {
    expect(readJwkSet({ keys })?.keys).toEqual(used);
  });

  test('names the keys that it leaves out for a flaw', () => {
    const set = readJwkSet({ keys: [{ ...exponent(1), kid: 'k0' }, { ...key, d: 'AQ', kid: 7 }, key] });
    expect(set?.flawed).toEqual([
      { kid: 'k0', flaw: expect.stringContaining('exponent 1') },
      { kid: 7, flaw: expect.stringContaining('private') },
    ]);
  });

  test.for([undefined, null, [], [key], 'x', {}, { keys: null }, { keys: {} }, { keys: [null] }, { keys: [1, 'x'] }])(
    'is not %j',
    (body) => {
      expect(readJwkSet(body)).toBeUndefined();
    },
  );
});
