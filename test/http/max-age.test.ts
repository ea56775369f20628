import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxAgeMs } from '../../src/http/max-age.ts';
import { runs } from '../support/runs.ts';

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
