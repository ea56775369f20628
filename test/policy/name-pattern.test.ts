import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { namePattern } from '../../src/policy/name-pattern.ts';
import { cpuTime } from '../support/cpu-time.ts';

test.each([
  ['get_*', ['get_', 'get_x', 'get_*', 'get_a_b'], ['get', 'xget_', 'Get_x', 'got_x']],
  ['*', ['', 'anything', 'a\nb'], []],
  ['*_admin', ['_admin', 'x_admin'], ['admin', '_admin2']],
  ['a*b*c', ['abc', 'a1b2c', 'abbc', 'abcbc'], ['ac', 'acb', 'abcd']],
  ['a*a', ['aa', 'aba', 'aaa'], ['a', 'ab']],
  ['ab*ba', ['abba', 'ab_ba'], ['aba', 'ab']],
  ['*a*a*', ['aa', 'xaxax'], ['a', 'xax']],
  ['a*b*b', ['abb', 'axbxb'], ['ab', 'axb']],
  ['get_**', ['get_', 'get_x'], ['get']],
  ['a.c*', ['a.c'], ['abc']],
  ['[ab]*', ['[ab]'], ['a', 'b']],
])('%s matches %j, not %j', (pattern, yes, no) => {
  const { matches } = namePattern(pattern);
  expect(yes.filter((name) => !matches(name))).toEqual([]);
  expect(no.filter((name) => matches(name))).toEqual([]);
});

test.each([
  ['get_*', 'get_*', 4],
  ['get_**', 'get_*', 4],
  ['a***b*', 'a*b*', 2],
  ['*', '*', 0],
])('%s is %s with %d literal characters', (pattern, canonical, literals) => {
  expect(namePattern(pattern)).toMatchObject({ canonical, literals });
});

test('agrees with a regular expression', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  fc.assert(
    fc.property(text, name, (pattern, name) => {
      const reference = new RegExp(`^${pattern.replaceAll('*', '[^]*')}$`, 'u');
      // Without a `*` a name is looked up, not matched.
      fc.pre(pattern.includes('*'));
      expect(namePattern(pattern).matches(name)).toBe(reference.test(name));
    }),
    { numRuns: 2000 },
  );
});

test('is not slow for a name made to be slow', () => {
  const { matches } = namePattern(`${'*a'.repeat(50)}*b`);
  const ms = cpuTime(() => {
    expect(matches('a'.repeat(1_000_000))).toBe(false);
    expect(matches(`${'a'.repeat(1_000_000)}c`)).toBe(false);
  });
  expect(ms).toBeLessThan(1000);
});
