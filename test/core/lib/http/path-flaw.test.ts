import { expect, test } from 'vitest';
import { isAtOrBelow, pathFlaw } from '../../../../src/core/lib/http/path-flaw.ts';

// test/core/gateway/route/target.test.ts has the table of paths with a flaw.

test('an encoded slash is a flaw, unless it may pass', () => {
  expect(pathFlaw('/a%2Fb')).toBe('percent-encoding of a delimiter or control, %2F');
  expect(pathFlaw('/a%2Fb', 'pass')).toBeUndefined();
});

test.each<[path: string, isBelow: boolean]>([
  ['/admin', true],
  ['/admin/', true],
  ['/admin/x/y', true],
  ['/administration', false],
  ['/', false],
  ['/x/admin/', false],
])('%s is at or below /admin: %s', (path, isBelow) => {
  expect(isAtOrBelow(path, '/admin')).toBe(isBelow);
});
