import { expect, test } from 'vitest';
import { cookiesNamed, withoutCookie } from '../../src/http/cookies.ts';

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
  expect(withoutCookie('a', field)).toBe(rest);
});

test('no field holds no cookie', () => {
  expect(cookiesNamed('a')).toEqual([]);
});
