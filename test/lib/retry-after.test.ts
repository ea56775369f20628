import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/lib/retry-after.ts';

const now = Date.parse('Fri, 21 Nov 2025 10:00:00 GMT');

test.each([
  [undefined, undefined],
  ['0', 0],
  ['120', 120_000],
  ['Fri, 21 Nov 2025 10:00:07 GMT', 7000],
  ['Fri, 21 Nov 2025 09:00:00 GMT', 0],
  ['-1', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['', undefined],
  ['soon', undefined],
  ['2031', 2_031_000],
  ['Fri, 99 Nov 2025 10:00:07 GMT', undefined],
])('RFC 9110 §10.2.3 — Retry-After: %s', (value, expected) => {
  expect(retryAfterMs(value, now)).toBe(expected);
});
