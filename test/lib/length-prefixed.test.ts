import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lengthPrefixed } from '../../src/lib/length-prefixed.ts';

test('different lists never give the same text', () => {
  const parts = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ':', '') }));
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      expect(lengthPrefixed(one) === lengthPrefixed(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
  );
});

test('counts bytes in UTF-8', () => {
  expect(lengthPrefixed(['é', ''])).toBe('2:é0:');
});
