import { describe, expect, test } from 'vitest';
import type { Path } from '../../src/config/problems.ts';
import { parseYaml } from '../../src/config/yaml-file.ts';

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
    ['a key given twice', 'a: 1\nb: 2\na: 3', '3:1: a key that is already in this mapping'],
    ['two documents', 'a: 1\n---\nb: 2', '2:1: a second document starts here; one file holds one'],
    ['a tab', 'a:\n\tb: 1', '2:1: indent with spaces, not tabs'],
    [
      'wrong indentation',
      'a:\n  b: 1\n c: 2',
      '3:2: "c" is indented by 1 space: indent it by 0 like "a" above it, or by 2 like "b"',
    ],
    ['an open quote', 'a: "b', '1:4: add the closing "'],
    [
      'a colon in a value',
      'a: b: c',
      '1:4: a nested mapping belongs on a line of its own; a value with ": " in it needs quotes',
    ],
    ['a placeholder in braces', 'a: { b: ${env:X} }', '1:10: a placeholder inside { } or [ ] needs quotes'],
    ['a key that is a list', '? [a]\n: b', '1:3: a key must be a string'],
    [
      'an alias of nothing',
      'a: *b',
      '1:4: a name or value that starts with * needs quotes, unless it is the alias of an anchor',
    ],
    ['an alias of itself', 'a: &a [*a]', '1:8: an alias of itself'],
    ['an unknown tag', 'a: !b c', '1:4: an unknown tag; a value that starts with ! needs quotes'],
    ['a tag for bytes', 'a: !!binary aGk=', '1:13: an unknown tag; a value that starts with ! needs quotes'],
    ['YAML 1.1', '%YAML 1.1\n---\na: off', '1:1: must be YAML 1.2'],
    ['too deep a nesting', `a: ${'['.repeat(65)}${']'.repeat(65)}`, '1:67: nested too deeply'],
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

  test('reports nesting that would overflow the stack', () => {
    const { problems } = parseYaml('f.yaml', '['.repeat(100_000));
    expect(problems.map(String).join()).toMatch(/^f\.yaml:\d+:\d+: nested too deeply$/);
  });

  test('reports one problem a line, and ten in all', () => {
    const { problems } = parseYaml('f.yaml', 'a: "\\q \\q"\n'.repeat(20));
    const lines = problems.map(({ line }) => line);
    expect(lines).toHaveLength(10);
    expect(new Set(lines).size).toBe(10);
  });
});

describe('position', () => {
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
  ])('of %j (%s) is %i:%i: %s', (path, part, line, column) => {
    expect(file.position(path, part)).toEqual({ line, column });
  });
});
