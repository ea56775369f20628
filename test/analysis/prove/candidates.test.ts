import { expect, test } from 'vitest';
import { representativeNumbers } from '../../../src/analysis/prove/candidates.ts';

/** Whether there is a number in an open interval, an integer or none. */
function has(points: readonly number[], low: number, high: number, integer: boolean): boolean {
  return representativeNumbers(points).some(
    (each) => each > low && each < high && Number.isSafeInteger(each) === integer && Number.isFinite(each),
  );
}

test.each<[points: readonly number[], low: number, high: number, integer: boolean, there: boolean]>([
  [[5], 5, Infinity, true, true],
  [[5], 5, Infinity, false, true],
  [[5], -Infinity, 5, true, true],
  [[5], -Infinity, 5, false, true],
  [[5, 6], 5, 6, false, true],
  [[5, 6], 5, 6, true, false],
  [[5, 7], 5, 7, true, true],
  [[1, 1 + Number.EPSILON], 1, 1 + Number.EPSILON, false, false],
  [[2.999_999_999_999_999_6, 3.000_000_000_000_000_4], 2.999_999_999_999_999_6, 3.000_000_000_000_000_4, true, true],
  [[0, Number.MIN_VALUE], 0, Number.MIN_VALUE, false, false],
  [[0, 2 * Number.MIN_VALUE], 0, 2 * Number.MIN_VALUE, false, true],
  [[-2 * Number.MIN_VALUE, 0], -2 * Number.MIN_VALUE, 0, false, true],
  [[], Number.MAX_SAFE_INTEGER, Infinity, false, true],
  [[], -Infinity, Number.MIN_SAFE_INTEGER, false, true],
  [[2 ** 52 + 1, 2 ** 52 + 4], 2 ** 52 + 1, 2 ** 52 + 4, false, false],
  [[2 ** 52 + 1, 2 ** 52 + 4], 2 ** 52 + 1, 2 ** 52 + 4, true, true],
  [[-(2 ** 52) - 5, 2 ** 52 + 5], -(2 ** 52) - 5, 2 ** 52 + 5, false, true],
])('for %j there is one between %d and %d: integer %s: %s', (points, low, high, integer, there) => {
  expect(has(points, low, high, integer)).toBe(there);
});

test('each point is there, and a number that no double can hold', () => {
  expect(representativeNumbers([5, 0.1])).toEqual(expect.arrayContaining([5, 0.1, Infinity]));
});

test('the shortest comes first, and of equally short ones the greater', () => {
  expect(representativeNumbers([50, 1000]).slice(0, 4)).toEqual([0, 51, 50, 0.5]);
});
