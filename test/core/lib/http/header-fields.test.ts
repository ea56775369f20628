import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cookiesNamed, maxAgeMs, retryAfterMs, withoutCookies } from '../../../../src/core/lib/http/header-fields.ts';
import { runs } from '../../../support/runs.ts';

test.each([
  ['a=1', ['1'], ''],
  ['b=2; a=1; c=3', ['1'], 'b=2; c=3'],
  ['a=1;a=2 ;b', ['1', '2'], 'b'],
  ['a = x=y', ['x=y'], ''],
  ['a', ['a'], ''],
  ['aa=1; b=a', [], 'aa=1; b=a'],
  ['b=2', [], 'b=2'],
  ['', [], ''],
])('of %j the cookies `a` are %j, and %j is left', (field, values, rest) => {
  expect(cookiesNamed('a', field)).toEqual(values);
  expect(withoutCookies(/^a$/, field)).toBe(rest);
});

test('no field holds no cookie', () => {
  expect(cookiesNamed('a')).toEqual([]);
});

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

test('of any Cache-Control: no more than each max-age in it says, or nothing', () => {
  const directive = fc.oneof(
    fc.nat().map((seconds) => `max-age=${seconds}`),
    fc.constantFrom('no-store', 'No-Cache', 'public', 's-maxage=9', 'max-age=-1', 'max-age', ''),
    fc.stringMatching(/^[a-z ="]{0,12}$/),
  );
  fc.assert(
    fc.property(fc.array(directive), (directives) => {
      const isNever = directives.some((each) => /^no-(?:store|cache)$/i.test(each));
      const allowed = isNever
        ? [0]
        : [undefined, ...directives.flatMap((each) => (/\d+/.exec(each) ?? []).map((digits) => Number(digits) * 1000))];
      expect(allowed).toContain(maxAgeMs(directives.join(', ')));
    }),
    { numRuns: runs },
  );
});

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
