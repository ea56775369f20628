import { expect, test } from 'vitest';
import { createBackOff } from '../../../src/core/lib/back-off.ts';

test('doubles each pause up to the longest, and begins again after a success', () => {
  const { next, reset } = createBackOff(100, 500);
  expect([next(), next(), next(), next(), next()]).toEqual([100, 200, 400, 500, 500]);
  reset();
  expect([next(), next()]).toEqual([100, 200]);
});

test('takes up to half off a pause, and nothing off the growth', () => {
  const chances = [0, 0.5, 1];
  const { next } = createBackOff(100, 400, () => chances.shift() ?? 0);
  expect([next(), next(), next(), next()]).toEqual([100, 150, 200, 400]);
});
