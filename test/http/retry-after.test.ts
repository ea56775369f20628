import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/http/retry-after.ts';
import { runs } from '../support/runs.ts';

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

test('of any Retry-After: a time to come, or nothing; a date comes back as it was written', () => {
  const date = fc
    .date({ min: new Date(now), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((at) => at.toUTCString());
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.nat().map(String), date), (value) => {
      const found = retryAfterMs(value, now);
      if (found === undefined) return;
      expect(found).toBeGreaterThanOrEqual(0);
      expect(/^\d+$/.test(value) ? String(found / 1000) : new Date(now + found).toUTCString()).toBe(
        /^\d+$/.test(value) ? String(Number(value)) : value,
      );
    }),
    { numRuns: runs },
  );
});
