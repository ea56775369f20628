import { expect, test } from 'vitest';
import { createExpiringCache } from '../../../src/core/lib/expiring-cache.ts';

test('an entry is returned before its expiry, and not at it', () => {
  let now = 1000;
  const cache = createExpiringCache<{ id: string }>(2, () => now);
  const value = { id: 'a' };
  cache.set('a', value, 2000);
  now = 1999;
  expect(cache.get('a')).toBe(value);
  now = 2000;
  expect(cache.get('a')).toBeUndefined();
  now = 1999;
  expect(cache.get('a'), 'gone for good, also when the clock is set back').toBeUndefined();
});

test('ignores an entry that has already expired', () => {
  const cache = createExpiringCache<object>(2, () => 1000);
  cache.set('a', {}, 1000);
  cache.set('b', {}, Number.NaN);
  expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined]);
});

test('a value that has already expired ends the one before it', () => {
  const cache = createExpiringCache<object>(2, () => 1000);
  cache.set('a', {}, 2000);
  cache.set('a', {}, 1000);
  expect(cache.get('a')).toBeUndefined();
});

test('evicts the least recently used entry', () => {
  const cache = createExpiringCache<object>(2, () => 0);
  for (const key of ['a', 'b']) cache.set(key, {}, 1);
  cache.get('a');
  cache.set('c', {}, 1);
  expect(['a', 'b', 'c'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
});

test('does not return a deleted entry', () => {
  const cache = createExpiringCache<object>(2, () => 0);
  cache.set('a', {}, 1);
  cache.delete('a');
  expect(cache.get('a')).toBeUndefined();
});

test('evicts the least recently used entries until all fit into the bytes, and keeps none that alone does not', () => {
  const cache = createExpiringCache<object>(10, () => 0, 100);
  const kept = (): readonly string[] => ['a', 'b', 'c', 'd'].filter((key) => cache.get(key) !== undefined);
  for (const key of ['a', 'b']) cache.set(key, {}, 1, 50);
  expect(kept()).toEqual(['a', 'b']);
  cache.set('c', {}, 1, 51);
  expect(kept()).toEqual(['c']);
  cache.set('d', {}, 1, 101);
  expect(kept()).toEqual(['c']);
  cache.set('c', {}, 1, 101);
  expect(kept(), 'not the value before').toEqual([]);
});
