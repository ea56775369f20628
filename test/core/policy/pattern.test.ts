import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namePattern, patternTable, uriPattern, uriVariable } from '../../../src/core/policy/pattern.ts';
import { cpuTime } from '../../support/cpu-time.ts';
import { runs } from '../../support/runs.ts';
import { property } from '../../support/property.ts';
import { compileEntries, type FindEntry } from '../../../src/core/policy/entry.ts';
import type { PolicyFault } from '../../../src/core/policy/document.ts';

describe('namePattern', () => {
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

  test('matches a name that was made to be slow in time', () => {
    const { matches } = namePattern(`${'*a'.repeat(50)}*b`);
    const ms = cpuTime(() => {
      expect(matches('a'.repeat(1_000_000))).toBe(false);
      expect(matches(`${'a'.repeat(1_000_000)}c`)).toBe(false);
    });
    expect(ms).toBeLessThan(1000);
  });
});

describe('uriPattern', () => {
  test.each([
    [
      'prices://*',
      ['prices://', 'prices://gold', 'prices://a.b'],
      ['prices://a/b', 'prices://a?b', 'prices://a#b', 'price://a'],
    ],
    ['prices://**', ['prices://', 'prices://gold', 'prices://a/b?c#d'], ['price://a']],
    ['a:/*/c', ['a:/b/c', 'a://c'], ['a:/b/d/c', 'a:/c', 'a:/b/c/']],
    ['a:/**/c', ['a:/b/c', 'a:/b/d/c', 'a://c'], ['a:/c', 'a:/b/c/']],
    ['a:/**', ['a:/', 'a:/b/'], ['a:']],
    ['a:*b*c', ['a:bc', 'a:xbxc', 'a:bbcc'], ['a:b/c', 'a:x/bc', 'a:cb']],
    ['a:**b*c', ['a:bc', 'a:b/bc', 'a:x/y/bxc', 'a:b/b/bc'], ['a:b/c', 'a:b/b/c']],
    ['a:**b*/c', ['a:b/c', 'a:b/b/c'], ['a:b/x/c']],
    ['a:*/**/d', ['a:x/y/d', 'a:x//d'], ['a:x/d']],
    ['**', ['', 'x', 'a:/b'], []],
    ['a:***b', ['a:b', 'a:/b'], ['a:b/']],
    ['a.b:*', ['a.b:x'], ['a-b:x', 'A.b:x']],
  ])('%s matches %j, not %j', (pattern, yes, no) => {
    const { matches } = uriPattern(pattern);
    expect(yes.filter((uri) => !matches(uri))).toEqual([]);
    expect(no.filter((uri) => matches(uri))).toEqual([]);
  });

  test.each([
    ['a:/*', 'a:/*', 3, 0],
    ['a:/***x**', 'a:/**x**', 4, 2],
    ['**', '**', 0, 1],
  ])('%s is %s with %d literal characters and %d unbounded wildcards', (pattern, canonical, literals, unbounded) => {
    expect(uriPattern(pattern)).toMatchObject({ canonical, literals, unbounded });
  });

  /** A pattern, and a URI that fits it, that lacks an end of one that fits, or any at all. */
  const patternAndUri = fc.array(fc.constantFrom('a', 'b', '/', '?', '*', '**'), { maxLength: 9 }).chain((parts) => {
    const segment = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
    const any = fc.string({ unit: fc.constantFrom('a', 'a', 'b', '/', '?'), maxLength: 6 });
    const stands = (part: string): fc.Arbitrary<string> => ({ '*': segment, '**': any })[part] ?? fc.constant(part);
    const fitting = fc.tuple(...parts.map(stands)).map((texts) => texts.join(''));
    const ends = fc.constantFrom<[number, number?]>([0], [1], [0, -1]);
    const uri = fc.oneof(
      fc.tuple(fitting, ends).map(([text, end]) => text.slice(...end)),
      any,
    );
    return fc.tuple(fc.constant(parts.join('')), uri);
  });

  property(
    'agrees with a regular expression',
    [patternAndUri],
    ([pattern, uri]) => {
      const source = pattern
        .split(/(\*+)/)
        .map((part) => (part.startsWith('**') ? '[^]*' : part === '*' ? '[^/?#]*' : part.replaceAll('?', '[?]')))
        .join('');
      expect(uriPattern(pattern).matches(uri)).toBe(new RegExp(`^${source}$`, 'u').test(uri));
    },
    { numRuns: 3 * runs },
  );

  test.each([`${'**a*a'.repeat(50)}b`, `**a${'*a'.repeat(50)}b`, '**a*b'])(
    'gives up on a URI that was made to be slow: %s',
    (pattern) => {
      const { matches } = uriPattern(pattern);
      expect(() => matches(`${'a'.repeat(2046)}/a`)).toThrow('too many steps');
    },
  );

  test('has enough steps for the longest ordinary URI', () => {
    const { matches } = uriPattern('repo://**/v*/docs/**.md');
    expect(matches(`repo://${'a/'.repeat(1000)}v1/docs/x.md`)).toBe(true);
  });
});

describe('uriVariable', () => {
  test.for<[pattern: string, uri: string, values: readonly string[]]>([
    ['a:{x}', 'a:b', ['b']],
    ['a:{x}', 'a:b/c', []],
    ['{x}/**', 'b/c', ['b']],
    ['**/{x}', '/b/c', ['c']],
    ['a:*/{x}', 'a:b/c', ['c']],
    ['a:*-{x}', 'a:-r', ['r']],
    ['a:*-{x}', 'a:p/q-r', []],
    ['a:**-{x}', 'a:p/q-r', ['r']],
    ['a:**-{x}', 'a:p-q-r', ['q-r', 'r']],
    ['a:{y}-{x}', 'a:p-r', ['r']],
    ['a:{y}-{x}', 'a:-r', []],
    ['a:{y}-{x}', 'a:p/q-r', []],
    ['a:{x}-*', 'a:b-c', ['b']],
    ['a:{x}-*', 'a:b-c/d', []],
    ['a:{x}-**', 'a:b-c/d', ['b']],
    ['a:{x}bcd', 'a:bcd', []],
    ['{x}b**', 'bb', ['b']],
    ['{x}a*', 'a', []],
  ])('in %s, x stands in %s for each of %j', ([pattern, uri, values]) => {
    expect(uriVariable(pattern, 'x')(uri)).toEqual(values);
  });

  test.for([
    ['one variable', 'a:**-{x}', 'a:', 338],
    ['each of two', 'a:{y}-{x}', 'a:b', 138],
  ] as const)('takes at most 50,000 steps for all variables of a key: %s', ([, pattern, start, length]) => {
    const find = uriVariable(pattern, 'x');
    const uri = `${start}${'-'.repeat(125)}${'b'.repeat(length)}`;
    expect(find(uri)).toHaveLength(125);
    expect(() => find(`${uri}b`)).toThrow('the uri has too many readings');
  });
});

test('only a key without * is found by its very text, and only a pattern among the patterns', () => {
  const entries = compileEntries('resources', { resources: { 'a:{x}': {}, 'a:{*': {}, 'b:c': {} } }, [], []);
  const { exact, matching } = patternTable(entries, uriPattern, []);
  expect(['a:{x}', 'a:{*', 'a:b', 'b:c'].map((name) => exact(name)?.name)).toEqual([
    'a:{x}',
    undefined,
    undefined,
    'b:c',
  ]);
  expect(['a:b', 'b:c'].map((name) => matching(name)?.name)).toEqual(['a:{x}', undefined]);
});

function finder(names: readonly string[], faults: PolicyFault[] = []): FindEntry {
  const documents = Object.fromEntries(names.map((name) => [name, {}]));
  const { exact, matching } = patternTable(
    compileEntries('tools', { tools: documents }, [], faults),
    namePattern,
    faults,
  );
  return (name) => exact(name) ?? matching(name);
}

describe.each([
  ['in order', (names: readonly string[]) => names],
  ['reversed', (names: readonly string[]) => names.toReversed()],
])('%s', (_, arrange) => {
  const names = arrange(['get_price', 'get_*', 'get_price*', '*price', '*', 'a*c', 'a*d', 'ab*', '*_x', 'y_*']);
  test.each([
    ['get_price', 'get_price'],
    ['get_prices', 'get_price*'],
    ['get_other', 'get_*'],
    ['set_price', '*price'],
    ['get_a_price', '*price'],
    ['other', '*'],
    ['', '*'],
    // equally many literals: code unit order, where * comes before letters
    ['abc', 'a*c'],
    ['abd', 'a*d'],
    ['y_x', '*_x'],
  ])('R-90: %j is decided by %j', (tool, name) => {
    expect(finder(names)(tool)?.name).toBe(name);
  });
});

test('a name may be that of a member that every object inherits', () => {
  const find = finder(['__proto__']);
  expect(find('__proto__')?.name).toBe('__proto__');
  expect(find('constructor')).toBeUndefined();
});

test('reports equal patterns', () => {
  const faults: PolicyFault[] = [];
  finder(['get_*', 'get_**', 'other', '*', '***'], faults);
  expect(faults).toEqual([
    { path: ['tools', 'get_**'], message: 'matches the same tools as "get_*"; only one of them can apply' },
    { path: ['tools', '***'], message: 'matches the same tools as "*"; only one of them can apply' },
  ]);
});

test('finds names among a thousand names and a thousand patterns in time', () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => String(index));
  const find = finder([...numbers.map((n) => `tool_${n}`), ...numbers.map((n) => `x_${n}_*`)]);
  expect([find('tool_999')?.name, find('absent')]).toEqual(['tool_999', undefined]);
  const ms = cpuTime(() => {
    for (let round = 0; round < 1000; round++) {
      find('tool_999');
      find('absent');
    }
  });
  expect(ms).toBeLessThan(1000);
});
