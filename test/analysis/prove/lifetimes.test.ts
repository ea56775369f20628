import { expect, test } from 'vitest';
import { representativeLifetimes } from '../../../src/analysis/prove/space.ts';

test.each<[what: string, seconds: number, lifetimes: readonly string[]]>([
  ['seconds', 60, ['60s', '1h', '61s', '120s', '60001ms', '59999ms']],
  ['seconds up to a quarter of an hour', 900, ['900s', '1h', '16m', '901s', '900001ms', '899999ms']],
  ['minutes beyond it', 960, ['16m', '1h', '17m', '961s', '960001ms', '959999ms']],
  ['hours', 7200, ['2h', '3h', '121m', '7201s', '7200001ms', '7199999ms']],
  ['milliseconds', 0.005, ['5ms', '1s', '1h', '6ms', '60s', '4ms']],
  ['no time at all, below which there is none', 0, ['1s', '1h', '1ms', '60s']],
  ['as many milliseconds as there are', 999_999.999, ['999999999ms', '278h', '16667m', '1000000s', '999999998ms']],
  ['more of them', 1_000_000, ['1000000s', '278h', '16667m', '1000001s', '999999999ms']],
])('a bound is tried exactly, and in each unit next to it: %s', (_what, seconds, lifetimes) => {
  expect(representativeLifetimes([seconds])).toEqual([undefined, ...lifetimes]);
});

test('without a bound, no lifetime stands for all; of several bounds, each is tried first', () => {
  expect(representativeLifetimes([])).toEqual([undefined]);
  const [none, ...lifetimes] = representativeLifetimes([60, 300, 60]);
  expect(none).toBeUndefined();
  expect(lifetimes.slice(0, 2)).toEqual(['60s', '300s']);
  expect(new Set(lifetimes).size).toBe(lifetimes.length);
});
