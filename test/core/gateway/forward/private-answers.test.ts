import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { privateCacheControl } from '../../../../src/core/gateway/forward/response-headers.ts';
import { runs } from '../../../support/runs.ts';
import { words } from '../../../support/words.ts';
import type { CallOutcome } from '../../../../src/core/model/history.ts';
import { outcomeOfStatus } from '../../../../src/core/gateway/forward/relay.ts';

describe('Cache-Control on a route that needs a token', () => {
  test.each([
    ['public', 'private'],
    ['public, max-age=0', 'private, max-age=0'],
    ['Public ,  S-MaxAge=60, Immutable', 'private, Immutable'],
    ['s-maxage="60", max-age=60', 'private, max-age=60'],
    ['max-age=60', 'private, max-age=60'],
    ['max-age=60, must-revalidate', 'private, max-age=60, must-revalidate'],
    ['proxy-revalidate', 'private, proxy-revalidate'],
    ['stale-while-revalidate=60', 'private, stale-while-revalidate=60'],
    ['private="set-cookie, x", max-age=60', 'private, max-age=60'],
    ['no-cache="public, x", max-age=1', 'private, no-cache="public, x", max-age=1'],
    ['private, public', 'private'],
    ['no-store, public', 'private, no-store'],
    [',, public ,', 'private'],
    ['max-age=60, x="', 'private, no-store'],
    ['max-age=60 public', 'private, no-store'],
  ])('%s becomes %s', (theirs, ours) => expect(privateCacheControl(theirs)).toBe(ours));

  test.each([
    '',
    'no-store',
    'no-cache',
    'no-cache, no-transform',
    'private',
    'private, max-age=60',
    'max-age=60, Private',
    'no-store, max-age=0',
    'x',
  ])('%s stays', (theirs) => expect(privateCacheControl(theirs)).toBe(theirs));

  test('any value: says neither public nor s-maxage, and the same when it is read again', () => {
    const word = fc.constantFrom(' ', ...words('public private s-maxage max-age no-store = , " \\ 1 PUBLIC'));
    const says = (theirs: readonly string[]): void => {
      const ours = privateCacheControl(theirs.join(''));
      expect(ours.replaceAll(/"[^"]*"?/g, '')).not.toMatch(/(?:^|,) *(?:public|s-maxage) *(?:[=,]|$)/i);
      expect(privateCacheControl(ours)).toBe(ours);
    };
    fc.assert(fc.property(fc.array(word), says), { numRuns: runs });
  });
});

test.each<[CallOutcome | undefined, readonly number[]]>([
  ['returned', [400, 401, 403, 404, 409, 429, 500, 501, 503]],
  // A proxy got no answer in time or a broken one, or its client left: the upstream may have acted.
  [undefined, [200, 202, 303, 307, 499, 502, 504, 520, 524]],
  // Some frameworks look at these headers of the caller only when they write the answer.
  ['unclear', [406, 412, 416]],
])('the outcome %s is that of the statuses %j', (outcome, statuses) => {
  expect(statuses.map((status) => outcomeOfStatus(status))).toEqual(statuses.map(() => outcome));
});
