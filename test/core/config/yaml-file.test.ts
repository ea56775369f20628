import { describe, expect, test } from 'vitest';
import type { Path } from '../../../src/core/config/problems.ts';
import { parseYaml } from '../../../src/core/config/yaml-file.ts';

describe('parseYaml', () => {
  test.each([
    ['nothing', '', null],
    ['a byte order mark', '\uFEFFa: 1', { a: 1 }],
    ['keys that look like other types', '1: a\ntrue: b\nnull: c', { 1: 'a', true: 'b', null: 'c' }],
    ['off, which is a word in YAML 1.2', 'a: off\nb: no\nc: 010', { a: 'off', b: 'no', c: 10 }],
    ['an alias', 'a: &x { b: 1 }\nc: *x', { a: { b: 1 }, c: { b: 1 } }],
    ['a tag of JSON', 'a: !!str 1', { a: '1' }],
    ['a merge key, which is none in YAML 1.2', 'a: &x { b: 1 }\nc: { <<: *x }', { a: { b: 1 }, c: { '<<': { b: 1 } } }],
  ])('reads %s', (_title, text, value) => {
    expect(parseYaml('f.yaml', text)).toMatchObject({ problems: [], value });
  });

  test('reads __proto__ as an ordinary key', () => {
    const { value } = parseYaml('f.yaml', '__proto__: { a: 1 }');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test.each([
    ['two documents', 'a: 1\n---\nb: 2', '2:1: a second document starts here; one file holds one'],
    [
      'a colon in a value',
      'a: b: c',
      '1:4: a nested mapping belongs on a line of its own; a value with ": " in it needs quotes',
    ],
    ['a key that is a list', '? [a]\n: b', '1:3: a key must be a string'],
    ['an alias of itself', 'a: &a [*a]', '1:8: an alias of itself'],
    ['an unknown tag', 'a: !b c', '1:4: an unknown tag; a value that starts with ! needs quotes'],
    ['a tag for bytes', 'a: !!binary aGk=', '1:13: an unknown tag; a value that starts with ! needs quotes'],
    ['YAML 1.1', '%YAML 1.1\n---\na: off', '1:1: must be YAML 1.2'],
    [
      'too deep a nesting',
      `a: ${'['.repeat(65)}${']'.repeat(65)}`,
      '1:67: nested 65 levels deep: at most 64 levels are accepted',
    ],
    ['a variable in a mapping', 'a: { b: /c/{d} }', '1:12: a text with { in it inside { } or [ ] needs quotes'],
    ['a pattern in a list', 'a: [b[0-9]]', '1:6: a text with [ in it inside { } or [ ] needs quotes'],
    ['a placeholder in a list', 'a: [${env:X}]', '1:6: a placeholder inside { } or [ ] needs quotes'],
    [
      'a billion laughs',
      [
        'a: &a [x,x,x,x,x,x,x,x,x]',
        ...['b', 'c', 'd', 'e'].map((k, i) => `${k}: &${k} [${Array(9).fill(`*${'abcd'[i]}`).join()}]`),
      ].join('\n'),
      '1:1: too many aliases',
    ],
  ])('refuses %s', (_title, text, line) => {
    const { value, problems } = parseYaml('f.yaml', text);
    expect(problems.map(String)[0]).toBe(`f.yaml:${line}`);
    expect(value).toBeUndefined();
  });

  const depths: Readonly<Record<string, (levels: number) => string>> = {
    'lists in brackets': (levels) => '['.repeat(levels) + ']'.repeat(levels),
    'mappings in braces': (levels) => '{ a: '.repeat(levels) + '}'.repeat(levels),
    'brackets over lines': (levels) => '[\n '.repeat(levels) + ']'.repeat(levels),
    'list items on one line': (levels) => `${'- '.repeat(levels)}x`,
    'list items over lines': (levels) =>
      Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}-\n`).join('') + ' '.repeat(levels) + 'x',
    'keys over lines': (levels) =>
      Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}a:\n`).join('') + ' '.repeat(levels) + 'x',
    'items and keys in turn': turns,
    'anchors and tags between': (levels) => '&a !!seq ['.repeat(levels) + ']'.repeat(levels),
    'brackets after text with brackets': (levels) =>
      `- "]]]]"\n- ']]]]'\n- x]]]]\n- |\n ]]]]\n# ]]]]\n- ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`,
  };

  /** A list whose items are mappings, whose values are lists, and so on. */
  function turns(levels: number): string {
    const lines = Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}${level % 2 === 0 ? '-' : 'a:'}\n`);
    return `${lines.join('')}${' '.repeat(levels)}x`;
  }

  test.each(Object.entries(depths))(
    'accepts 64 levels of %s, and refuses more before it reads them',
    (_title, text) => {
      expect(parseYaml('f.yaml', text(64)).problems).toEqual([]);
      for (const levels of [65, 3000]) {
        expect(parseYaml('f.yaml', text(levels)).problems.map(String)).toEqual([
          expect.stringMatching(/^f\.yaml:\d+:\d+: nested 65 levels deep: at most 64 levels are accepted$/),
        ]);
      }
    },
  );

  test.each([
    ['brackets that nothing closes', '['.repeat(100_000)],
    ['braces that nothing closes', '{'.repeat(100_000)],
    ['explicit keys', '? '.repeat(100_000)],
    ['explicit keys of lists', '? - '.repeat(50_000)],
    ['values without a key', ': '.repeat(100_000)],
    ['keys on one line', 'a: '.repeat(50_000)],
    ['single pairs in brackets', '[a: '.repeat(50_000)],
    ['explicit keys in brackets', '[? '.repeat(50_000)],
    ['brackets as keys', '{['.repeat(50_000)],
    ['a second document', `a: 1\n---\n${'['.repeat(100_000)}`],
  ])('refuses %s, 50,000 levels deep', (_title, text) => {
    expect(parseYaml('f.yaml', text).problems.map(String)).toEqual([
      expect.stringMatching(/^f\.yaml:\d+:\d+: nested 65 levels deep: at most 64 levels are accepted$/),
    ]);
  });

  test('counts the levels behind aliases', () => {
    const links = Array.from({ length: 80 }, (_, at) => `- &a${at} [${at === 0 ? '' : `*a${at - 1}`}]\n`);
    expect(parseYaml('f.yaml', links.join('')).problems.map(String)).toEqual([
      'f.yaml:2:8: nested 65 levels deep: at most 64 levels are accepted',
    ]);
  });

  test.each([
    ['a quoted text', `a: "${'[{'.repeat(100)}"`],
    ['a single-quoted text', `a: '${'[{'.repeat(100)}'`],
    ['a plain text', `a: x${'[{'.repeat(100)}`],
    ['a block of text', `a: |\n  ${'[{- '.repeat(100)}`],
    ['a comment', `a: 1 # ${'[{'.repeat(100)}`],
    ['a list of lists', `a:\n${'  - [[]]\n'.repeat(1000)}`],
    ['a deep list, many times', `- ${'['.repeat(60)}${']'.repeat(60)}\n`.repeat(100)],
  ])('counts no level for brackets in %s', (_title, text) => {
    expect(parseYaml('f.yaml', text).problems).toEqual([]);
  });

  test('reports one problem a line, and ten in all', () => {
    const { problems } = parseYaml('f.yaml', 'a: "\\q \\q"\n'.repeat(20));
    const lines = problems.map(({ line }) => line);
    expect(lines).toHaveLength(10);
    expect(new Set(lines).size).toBe(10);
  });
});

const file = parseYaml('f.yaml', 'a: &x { p: { q: 1 } }\nb: *x\nc:\nd:\n  - e\n  -\n');

test.each<[Path, 'key' | 'value', number, number, string]>([
  [['b'], 'value', 2, 4, 'an alias itself'],
  [['b', 'p', 'q'], 'value', 1, 17, 'what is behind an alias is where it is written'],
  [['c'], 'value', 3, 3, 'an empty value is after its colon'],
  [['d'], 'key', 4, 1, 'a key'],
  [['d', 0], 'value', 5, 5, 'an element'],
  [['d', 1], 'value', 6, 4, 'an empty element'],
  [['nope', 'no'], 'value', 1, 1, 'what is missing would be in the mapping'],
  [[], 'value', 1, 1, 'the whole'],
])('the position of %j (%s) is %i:%i: %s', (path, part, line, column) => {
  expect(file.position(path, part)).toEqual({ line, column });
});
