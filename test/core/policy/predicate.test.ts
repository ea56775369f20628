import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PolicyFault, ValueDocument } from '../../../src/core/policy/document.ts';
import { unreachable } from '../../../src/core/lib/json/pointer.ts';
import { compilePredicates, describeFound, maxMatchedLength, wantedBy } from '../../../src/core/policy/predicate.ts';
import { property } from '../../support/property.ts';
import { wordsIn } from '../../support/words-in.ts';

function holds(document: ValueDocument, value: unknown): boolean {
  return compilePredicates(document, [], []).every((predicate) => predicate.test(value));
}

const missing = undefined;
const infinity: unknown = JSON.parse('1e999');

/** A document, the values for which it holds, and those for which it fails. */
const table: readonly [ValueDocument, readonly unknown[], readonly unknown[]][] = [
  ['acme', ['acme'], ['Acme', 'acme ', ['acme'], { acme: 'acme' }, true, null, missing]],
  [1, [1], ['1', true, [1], 1.5, null, missing]],
  [0, [0, -0], ['', false, null, [], '0', missing]],
  [true, [true], ['true', 1, [true], false, null, missing]],
  [false, [false], ['', 0, null, 'false', missing]],
  ['', [''], [0, false, null, [], missing]],
  [
    ['SE', 'NO', 1, true],
    ['SE', 'NO', 1, true],
    ['DK', '1', 'true', 0, ['SE'], ['SE', 'NO'], null, missing],
  ],
  [{ equals: 'acme' }, ['acme'], ['other', ['acme'], missing]],
  [{ one_of: ['SE', 'NO'] }, ['SE'], ['DK', ['SE'], missing]],
  [
    { contains: 'trader' },
    [['trader'], ['a', 'trader', null]],
    [[], ['no-trader'], [['trader']], 'trader', 'a trader', { trader: true }, null, missing],
  ],
  [{ contains: 1 }, [[1]], [['1'], [true], 1]],
  [
    { below: 50 },
    [49, 49.999, 0, -1, -1e300],
    [50, 51, infinity, '49', '', null, [], [49], {}, true, false, '0x10', '-Infinity', missing],
  ],
  [{ below: 50.5 }, [50.4], [50.5, 51]],
  [{ at_most: 50 }, [49, 50], [51, '50', infinity, null, missing]],
  [{ above: 50 }, [51, 50.1], [50, 49, '51', infinity, null, missing]],
  [{ at_least: 50 }, [50, 51], [49, '50', infinity, null, missing]],
  [{ at_least: 0 }, [0, -0], [null, '', [], false, '0']],
  [{ above: 1, below: 3 }, [2], [1, 3, missing]],
  [{ equals: 5, below: 3 }, [], [5, 2]],
  [
    { integer: true },
    [0, 1, -1, '0', '42', '-42', '007', 5.0, Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [
      ...wordsIn`- +1 1.0 1e3 0x10 --1 ١`,
      '',
      ' 1',
      '1 ',
      '1\n',
      1.5,
      2 ** 53,
      '9007199254740992',
      '-9007199254740993',
      infinity,
      'Infinity',
      true,
      null,
      [],
      [1],
      {},
      missing,
    ],
  ],
  [
    { integer: true, below: 50 },
    [49, '49', '-1', '0049'],
    [50, '50', 49.5, '49.5', '', ' ', 'abc', '0x10', null, [], true, {}, missing],
  ],
  [{ integer: true, at_most: 5, at_least: -5 }, ['5', '-5', 0], ['6', '-6', 6]],
  [{ integer: true, above: 5 }, ['6'], ['5']],
  [{ integer: true, equals: 7 }, [7, '7', '07'], ['8', 7.5, missing]],
  [{ integer: true, one_of: [7, 8] }, [7, '8'], ['9', '7.0', missing]],
  [{ integer: true, equals: '7' }, ['7'], [7, '07']],
  [{ integer: true, not: 7 }, [8, '8'], [7, '7', 'abc', missing]],
  [{ integer: true, not: { above: 7 } }, [7, '7'], [8, '8', 'abc', missing]],
  [{ integer: true, not: [7, 8] }, ['9'], ['7', 8]],
  [{ matches: '^ops-' }, ['ops-', 'ops-1'], ['devops-', 'OPS-', ['ops-1'], { ops: 'ops-' }, 1, null, missing]],
  [{ matches: 'ops' }, ['devops-1'], ['op']],
  [{ matches: 'null|undefined|true|1' }, ['1'], [null, missing, true, 1]],
  [{ matches: '^.$' }, ['😀'], ['ab']],
  [{ matches: '^[a-z-]+$' }, ['a-b'], ['a_b']],
  [{ present: true }, [0, '', false, [], {}, 'x'], [null, missing, unreachable]],
  [{ present: false }, [null, missing], [0, '', false, [], {}, 'x', unreachable]],
  // What is of another type may be the excluded value to a reader that converts.
  [{ not: true }, [false, missing], [true, 'true', 1, null, [true], {}, unreachable]],
  [{ not: 5 }, [4, missing], [5, '5', [5], true, null, unreachable]],
  [{ not: ['a', 'b'] }, ['c', missing], ['a', 'b', ['a'], 1, null, {}, unreachable]],
  [{ not: ['a', 1] }, ['c', 2, missing], ['a', 1, true, ['c'], null]],
  [{ not: { contains: 'x' } }, [['y'], [], missing], [['x'], 'x', 'y', {}, null, ['y', ['x']], unreachable]],
  [{ not: { above: 1, below: 3 } }, [1, 3, missing], [2, 'x', null]],
  [{ not: { above: 1000 } }, [1000, missing], [5000, '5000', '1', [5000], null, infinity, {}, unreachable]],
  [{ not: { matches: '^x' } }, ['y', missing], ['x', ['x'], 7, null, {}, unreachable]],
  [{ not: { integer: true } }, [missing], [1, '1', 1.5, 'abc', null, [1], unreachable]],
  [{ not: { not: { above: 5 } } }, [6], [5, '6', null, [6], unreachable, missing]],
  [{ integer: true, not: '7' }, ['8'], ['7', 7, 8]],
  [{ not: { present: true } }, [null, missing], ['x', unreachable]],
  [{ not: { present: false } }, ['x'], [null, missing, unreachable]],
  [{ not: { not: 'a' } }, ['a'], ['b', missing]],
  [{ not: { integer: true, below: 50 } }, ['50', missing], ['49', 49, 'abc', 50.5, null]],
];

describe.each(table)('%j', (document, yes, no) => {
  test.each(yes.map((value) => [value]))('holds for %j', (value) => {
    expect(holds(document, value)).toBe(true);
  });
  test.each(no.map((value) => [value]))('fails for %j', (value) => {
    expect(holds(document, value)).toBe(false);
  });
});

describe('matches', () => {
  test('tests a string of the maximal length', () => {
    expect(holds({ matches: '^x+$' }, 'x'.repeat(maxMatchedLength))).toBe(true);
  });

  test.each<ValueDocument>([{ matches: 'x' }, { not: { matches: 'x' } }])('%j throws for a longer one', (document) => {
    expect(() => holds(document, 'x'.repeat(maxMatchedLength + 1))).toThrow(RangeError);
  });

  test('keeps no state between tests', () => {
    const [predicate] = compilePredicates({ matches: 'a' }, [], []);
    expect([predicate?.test('a'), predicate?.test('a')]).toEqual([true, true]);
  });
});

describe('faults', () => {
  const faulty: readonly [ValueDocument, PolicyFault[]][] = [
    [
      { matches: '(' },
      [
        {
          path: ['claims', 'x', 'matches'],
          message: '"(" is not a JavaScript regular expression with the u flag: Unterminated group',
        },
      ],
    ],
    [
      { matches: 'a**' },
      [
        {
          path: ['claims', 'x', 'matches'],
          message: '"a**" is not a JavaScript regular expression with the u flag: Nothing to repeat',
        },
      ],
    ],
    [{ below: Number.NaN }, [{ path: ['claims', 'x', 'below'], message: 'NaN is not a finite number' }]],
    [{ at_most: -Infinity }, [{ path: ['claims', 'x', 'at_most'], message: '-Infinity is not a finite number' }]],
  ];
  test.each(faulty)('%j', (document, expected) => {
    const faults: PolicyFault[] = [];
    compilePredicates(document, ['claims', 'x'], faults);
    expect(faults).toEqual(expected);
  });

  test.each([
    ['^${tenant.id}$', '; a pattern cannot name a claim: compare with { claim: NAME }, and paths with within'],
    ['(?im)hello', '; flags cannot be set: write [Hh] for a letter in either case'],
    ['*.log', '; write .* for any run of characters, or \\* for the character'],
  ])('of %s names the remedy', (matches, remedy) => {
    const faults: PolicyFault[] = [];
    compilePredicates({ matches }, [], faults);
    expect(faults).toEqual([{ path: ['matches'], message: expect.stringContaining(remedy) }]);
  });

  // JSON.parse reads 9007199254740993 as 9007199254740992: two accounts would be one.
  const inexact: readonly [ValueDocument, (string | number)[]][] = [
    [2 ** 53, ['x']],
    [Number.POSITIVE_INFINITY, ['x']],
    [['a', 2 ** 53], ['x']],
    [{ equals: 2 ** 53 }, ['x', 'equals']],
    [{ one_of: [1, -(2 ** 53)] }, ['x', 'one_of']],
    [{ contains: 2 ** 60 }, ['x', 'contains']],
    [{ not: 2 ** 53 }, ['x', 'not']],
    [{ not: { equals: 2 ** 53 } }, ['x', 'not', 'equals']],
  ];
  test.each(inexact)('%j cannot be compared exactly', (document, path) => {
    const faults: PolicyFault[] = [];
    compilePredicates(document, ['x'], faults);
    expect(faults).toEqual([{ path, message: expect.stringContaining('cannot be compared exactly') }]);
  });

  test.each<ValueDocument>([2 ** 53 - 1, 1.5, { below: 1e300 }])('%j can be compared exactly', (document) => {
    const faults: PolicyFault[] = [];
    compilePredicates(document, ['x'], faults);
    expect(faults).toEqual([]);
  });

  test('all faults are reported at once', () => {
    const faults: PolicyFault[] = [];
    compilePredicates({ matches: '[', below: Number.NaN, not: { matches: '*' } }, [], faults);
    expect(faults.map(({ path }) => path)).toEqual([['below'], ['matches'], ['not', 'matches']]);
  });
});

describe('wanted', () => {
  const words: readonly [ValueDocument, string[]][] = [
    ['acme', ['"acme"']],
    [['SE', 1], ['one of "SE", 1']],
    [[1, 2, 3, 4, 5, 6, 7, 8], ['one of 1, 2, 3, 4, 5, 6, 7, 8']],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], ['one of 1, 2, 3, 4, 5, 6, 7, 8, …']],
    [{ below: 50 }, ['a number below 50']],
    [{ integer: true, below: 50, at_least: 0 }, ['an integer', 'an integer below 50', 'an integer of at least 0']],
    [{ at_most: 1, above: 0 }, ['a number of at most 1', 'a number above 0']],
    [{ contains: 'x' }, ['an array that contains "x"']],
    [{ matches: '^a' }, ['a string that matches "^a"']],
    [{ present: true }, ['a value']],
    [{ present: false }, ['no value']],
    [
      { not: { above: 1, below: 3 } },
      ['not a number below 3 (or another type) and a number above 1 (or another type)'],
    ],
  ];
  test.each(words)('%j', (document, expected) => {
    expect(compilePredicates(document, [], []).map(({ wanted }) => wanted)).toEqual(expected);
  });
});

describe('properties', () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
  const mapping: fc.Arbitrary<ValueDocument> = fc
    .record(
      {
        equals: scalar,
        one_of: fc.array(scalar, { minLength: 1 }),
        contains: scalar,
        below: fc.double({ noNaN: true, noDefaultInfinity: true }),
        at_most: fc.integer(),
        above: fc.integer(),
        at_least: fc.integer(),
        matches: fc.constantFrom('^a', 'b$', '[0-9]+', '.'),
        present: fc.boolean(),
        integer: fc.constant(true as const),
        not: scalar,
      },
      { requiredKeys: [] },
    )
    .filter((predicates) => Object.keys(predicates).length > 0);
  const document = fc.oneof(scalar, fc.array(scalar, { minLength: 1 }), mapping);

  property('never throws for any JSON value', [document, fc.jsonValue({ maxDepth: 3 })], (document, value) => {
    expect(typeof holds(document, value)).toBe('boolean');
  });

  const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(unreachable));

  property('no predicate holds for a value both plain and under not', [document, anything], (document, value) => {
    expect(holds(document, value) && holds({ not: document }, value)).toBe(false);
  });

  property('R-82: a missing value holds either for a document or under its not', [document], (document) => {
    expect(holds({ not: document }, missing)).toBe(!holds(document, missing));
  });

  test('not is the opposite for a number, and never holds for another type', () => {
    const bounds = fc.record({ below: fc.integer(), at_least: fc.integer() }, { requiredKeys: ['below'] });
    fc.assert(
      fc.property(bounds, anything, (document, value) => {
        const isNumber = typeof value === 'number' && Number.isFinite(value);
        expect(holds({ not: document }, value)).toBe(isNumber && !holds(document, value));
      }),
    );
  });

  property(
    'R-82: no predicate holds for an unreachable value, under any number of not',
    [document, fc.nat({ max: 3 })],
    (document, depth) => {
      const nested = Array.from({ length: depth }).reduce<ValueDocument>((inner) => ({ not: inner }), document);
      expect(holds(nested, unreachable)).toBe(false);
    },
  );

  property(
    'an integer compares the same as a number and as a string',
    [fc.maxSafeInteger(), fc.maxSafeInteger()],
    (value, bound) => {
      expect(holds({ integer: true, below: bound }, String(value))).toBe(value < bound);
      expect(holds({ integer: true, below: bound }, value)).toBe(value < bound);
    },
  );
});

test('a predicate says what it compares values with', () => {
  const document = { integer: true, one_of: ['a', 1], contains: 'b', below: 5, matches: 'x', present: true } as const;
  const operands = compilePredicates({ ...document, not: { above: 1 } }, [], []).map(({ operand }) => operand);
  expect(operands).toEqual([
    { kind: 'integer' },
    { kind: 'scalars', scalars: ['a', 1], integer: true },
    { kind: 'element', element: 'b' },
    { kind: 'bound', bound: 5, integer: true },
    { kind: 'pattern', source: 'x' },
    { kind: 'presence' },
    { kind: 'not', excluded: [expect.objectContaining({ operand: { kind: 'bound', bound: 1, integer: true } })] },
  ]);
});

const describedBy = (value: ValueDocument, found: unknown): string =>
  describeFound(found, compilePredicates(value, [], []));

test('a predicate says which claims it compares values with', () => {
  const [claim, own] = [{ claim: 'c' }, { of: 'caller', name: 'c' }];
  const document = { equals: claim, one_of: claim, contains: claim, at_most: claim, within: ['/a/', claim, 'b'] };
  const operands = compilePredicates(document, [], []).map(({ operand }) => operand);
  const claims = [expect.objectContaining(own)];
  expect(operands).toMatchObject([
    { kind: 'claims', relation: 'equals', claims, parts: [undefined], integer: false },
    { kind: 'claims', relation: 'one_of', claims, parts: [undefined], integer: false },
    { kind: 'claims', relation: 'contains', claims, parts: [undefined], integer: false },
    { kind: 'claims', relation: 'at_most', claims, parts: [undefined], integer: false },
    { kind: 'claims', relation: 'within', claims, parts: ['/a', undefined, 'b'], integer: false },
  ]);
});

describe('a list with an element that the condition wants', () => {
  test.each<[ValueDocument, unknown, string]>([
    ['trader', ['x', 'trader'], 'an array of 2; use contains for a list'],
    [{ matches: '^ops-' }, ['ops-1'], 'an array of 1; use contains for a list'],
    [['a', 'b'], ['b'], 'an array of 1; use contains for a list'],
    ['trader', ['x'], 'an array of 1'],
    [{ one_of: ['a', 'b'], matches: '^b' }, ['a'], 'an array of 1'],
    ['trader', [], 'an array of 0'],
    ['trader', [['trader']], 'an array of 1'],
    ['trader', 'x', '"x"'],
    ['trader', { 0: 'trader' }, 'an object of 1'],
    [{ contains: 'trader' }, ['trader'], 'an array of 1'],
    [{ present: true }, ['trader'], 'an array of 1'],
    // No element of a list is compared as a number by `contains`.
    [{ below: 50 }, [1, 2], 'an array of 2'],
  ])('%j, %j: %s', (value, found, words) => {
    expect(describedBy(value, found)).toBe(words);
  });

  test('is searched in its first 32 elements only', () => {
    const padding = Array.from({ length: 31 }, () => 'x');
    expect(describedBy('trader', [...padding, 'trader'])).toBe('an array of 32; use contains for a list');
    expect(describedBy('trader', ['x', ...padding, 'trader'])).toBe('an array of 33');
  });

  test('never turns a denial into an error', () => {
    expect(describedBy({ matches: 'x' }, ['x'.repeat(5000)])).toBe('an array of 1');
  });
});

test.each<[ValueDocument, string]>([
  [{ integer: true }, 'an integer'],
  [{ integer: true, below: 50 }, 'an integer below 50'],
  [{ integer: true, at_least: 1, at_most: 5 }, 'an integer of at most 5 and an integer of at least 1'],
  [{ integer: true, equals: 7 }, 'an integer and 7'],
  [{ below: 50, above: 1 }, 'a number below 50 and a number above 1'],
])('%j wants %s', (document, words) => {
  expect(wantedBy(compilePredicates(document, [], []))).toBe(words);
});
