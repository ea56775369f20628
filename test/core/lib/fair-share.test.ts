import { expect, test } from 'vitest';
import { createQuota } from '../../../src/core/lib/fair-share.ts';

test('an owner holds at most a quarter', () => {
  const shares = createQuota(100);
  expect(shares.take('a', 20)).toBe(true);
  expect(shares.take('a', 6)).toBe(false);
  expect(shares.take('a', 5)).toBe(true);
});

test('an owner never holds more than is free', () => {
  const shares = createQuota(100);
  for (const owner of ['a', 'b', 'c']) expect(shares.take(owner, 25)).toBe(true);
  expect(shares.take('d', 20)).toBe(true);
  expect(shares.take('e', 6)).toBe(false);
  expect(shares.take('e', 5)).toBe(true);
  expect(shares.take('f', 1)).toBe(false);
});

test('an amount that is given back is free again, and an owner without one is removed', () => {
  const shares = createQuota(100);
  shares.take('a', 25);
  shares.give('a', 10);
  expect(shares.take('a', 11)).toBe(false);
  expect(shares.take('a', 10)).toBe(true);
  shares.give('a', 25);
  expect(shares.take('a', 25)).toBe(true);
});

test('throws if an owner gives back more than it holds', () => {
  const shares = createQuota(100);
  shares.take('a', 10);
  expect(() => shares.give('a', 11)).toThrow('gave back what was not taken');
  expect(() => shares.give('b', 1)).toThrow('gave back what was not taken');
});
