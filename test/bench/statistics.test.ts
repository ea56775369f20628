import { expect, test } from 'vitest';
import { differences, median, medianRatio, quantile, ratios, rotated, spread } from '../../bench/statistics.ts';

test('a median is the middle sample, or the mean of the two in the middle', () => {
  expect(median([9, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 100])).toBe(3.5);
  expect(median([])).toBeNaN();
});

test('a quantile between two samples is interpolated', () => {
  expect(quantile([0, 10], 0.25)).toBe(2.5);
  expect(spread([1, 2, 3, 4, 5])).toEqual({ low: 2, median: 3, high: 4 });
});

test('ratios and differences are those of the same round', () => {
  expect(ratios([2, 9, 8], [1, 3, 2])).toEqual([2, 3, 4]);
  expect(differences([2, 9, 8], [1, 3, 2])).toEqual([1, 6, 6]);
  // A round in which the machine was three times as slow for both changes nothing.
  expect(medianRatio([2, 6, 2], [1, 3, 1])).toBe(2);
});

test('rounds have rotated orders: each item is first as often as any other', () => {
  const orders = [0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''));
  expect(orders).toEqual(['abc', 'cab', 'bca', 'abc']);
});
