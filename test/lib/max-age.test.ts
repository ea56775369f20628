import { expect, test } from 'vitest';
import { maxAgeMs } from '../../src/lib/max-age.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['public', undefined],
  ['max-age=60', 60_000],
  ['public, Max-Age=60, must-revalidate', 60_000],
  ['max-age="60"', 60_000],
  ['max-age=60, max-age=5', 60_000],
  ['max-age=0', 0],
  ['max-age=-1', undefined],
  ['s-maxage=9', undefined],
  ['no-store', 0],
  ['max-age=60, no-cache', 0],
])('RFC 9111 §5.2.2 — Cache-Control: %s', (value, expected) => {
  expect(maxAgeMs(value)).toBe(expected);
});
