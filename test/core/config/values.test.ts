import { expect, test } from 'vitest';
import { longSecret, recordedClaim } from '../../../src/core/config/values.ts';

test.each([
  ['a key of 31 characters', 'k'.repeat(31), 'too short'],
  ['a long key of one letter', '0'.repeat(64), 'not random enough'],
])('session_key: refuses %s', (_, text, why) => {
  expect(() => longSecret(text)).toThrow(why);
});

test('session_key: accepts a key from openssl rand', () => {
  const key = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
  expect(longSecret(key)).toBe(key);
});

test('R-316: log.claims takes names and JSON Pointers', () => {
  expect(recordedClaim('email').read({ email: 'a' })).toBe('a');
  expect(recordedClaim('/profile/name').read({ profile: { name: 'b' } })).toBe('b');
  expect(() => recordedClaim('/a~2')).toThrow('is not a JSON Pointer');
});
