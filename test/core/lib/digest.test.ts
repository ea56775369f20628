import fc from 'fast-check';
import { calculateJwkThumbprint } from 'jose';
import { expect, test } from 'vitest';
import { certificateThumbprint, isThumbprint, keyThumbprint, lengthPrefixed } from '../../../src/core/lib/digest.ts';

test('RFC 7638 §3.1 — a key has one thumbprint, whatever the order of its members', async () => {
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  expect(keyThumbprint(key)).toBe(await calculateJwkThumbprint(key, 'sha256'));
  expect(keyThumbprint({ y: 'y', x: 'x', kty: 'EC', crv: 'P-256' })).toBe(keyThumbprint(key));
});

test('RFC 8705 §3.1 — SHA-256 of the DER', () => {
  expect(certificateThumbprint(Buffer.from('abc'))).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});

test.each([
  ['43 characters of base64url', 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0', true],
  ['a shorter text', 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa', false],
  ['a longer text', 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0A', false],
  ['base64 with padding', 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0', false],
  ['a text before it', ' ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0', false],
  ['a number', 43, false],
])('the form of a thumbprint: %s', (_, value, expected) => {
  expect(isThumbprint(value)).toBe(expected);
});

test('length-prefixed: different lists never give the same text', () => {
  const parts = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ':', '') }));
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      expect(lengthPrefixed(one) === lengthPrefixed(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
  );
});

test('length-prefixed: counts bytes in UTF-8', () => {
  expect(lengthPrefixed(['é', ''])).toBe('2:é0:');
});
