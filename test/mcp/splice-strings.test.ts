import { constantFrom, jsonValue, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memberText, spliceStrings, withoutMembers } from '../../src/mcp/splice-strings.ts';
import type { JsonScanError } from '../../src/core/lib/json/scanner.ts';
import { property } from '../support/property.ts';

const json = jsonValue({ maxDepth: 2 });
const space = constantFrom('', ' ', '\t');
const lineEnd = constantFrom('\n', '\r\n');

describe('spliceStrings', () => {
  property(
    'agrees with JSON.parse, in any JSON',
    [json, json, string(), space, lineEnd],
    (before, after, to, space, lineEnd) => {
      const text = (deep: string): string =>
        JSON.stringify({ before, '': [before, { deep }, after], after }, null, space).replaceAll('\n', lineEnd);
      expect(spliceStrings(text('from'), [{ path: ['', '1', 'deep'], from: 'from', to }])).toBe(text(to));
    },
  );

  test.each([
    ['is not there', '{"a":1}'],
    ['is another', '{"a":{"b":"y"}}'],
    ['is no string', '{"a":{"b":["x"]}}'],
    ['appears twice', '{"a":{"b":"x","b":"x"}}'],
    ['is below a string', '{"a":"x"}'],
  ])('throws for a string that %s', (_, text) => {
    expect(() => spliceStrings(text, [{ path: ['a', 'b'], from: 'x', to: 'z' }])).toThrow(SyntaxError);
  });

  test.each(['{"a":{"b":"x', '{"a":{"c":[1', '{"a":{"b', '{"a":{"c":[tru'])(
    'throws for text that is not JSON: %s',
    (text) => {
      expect(() => spliceStrings(text, [{ path: ['a', 'b'], from: 'x', to: 'z' }])).toThrow(
        expect.objectContaining({ name: 'JsonScanError', kind: 'malformed' }) as JsonScanError,
      );
    },
  );

  test('keeps an escaped lone surrogate elsewhere', () => {
    const text = String.raw`{"c":["\\ud800","\ud800"],"a":{"\udc00":1,"b":"x"}}`;
    const changes = [{ path: ['a', 'b'], from: 'x', to: 'z' }];
    expect(spliceStrings(text, changes)).toBe(text.replace('"x"', '"z"'));
  });

  test('throws for one string within another', () => {
    const paths = [['a'], ['a', 'b']];
    const changes = paths.map((path) => ({ path, from: 'x', to: 'z' }));
    expect(() => spliceStrings('{"a":"x"}', changes)).toThrow(SyntaxError);
  });

  test('skips a duplicate key whose value is no container', () => {
    const changes = [{ path: ['a', 'b'], from: 'x', to: 'z' }];
    expect(spliceStrings('{"a":"","a":{"b":"x"}}', changes)).toBe('{"a":"","a":{"b":"z"}}');
  });
});

describe('withoutMembers', () => {
  property('agrees with JSON.parse, in any JSON', [json, json, space, lineEnd], (one, other, space, lineEnd) => {
    const text = (outer: object): string =>
      JSON.stringify({ one, outer, other }, null, space).replaceAll('\n', lineEnd);
    const result = withoutMembers(text({ gone: one, kept: other, '"}': one, last: one }), 'outer', ['gone', 'last']);
    expect(JSON.parse(result)).toEqual(JSON.parse(text({ kept: other, '"}': one })));
  });

  test.each([
    ['{ "a": 1, "outer": { "x" : 1 , "y": [2],"z":"3" } , "b": 2 }', '{ "a": 1, "outer": {"x" : 1,"z":"3"} , "b": 2 }'],
    [' {"outer":{"y":{"y":1}}}', ' {"outer":{}}'],
    ['{"other":{"y":1}}', '{"other":{"y":1}}'],
    ['{"outer":["y"]}', '{"outer":["y"]}'],
    ['["outer",{"y":1}]', '["outer",{"y":1}]'],
  ])('without y in outer, %s is %s', (text, expected) => {
    expect(withoutMembers(text, 'outer', ['y'])).toBe(expected);
  });
});

test.each([
  ['id', '{"id": 1.50 , "a": {"id": 2}}', '1.50'],
  ['id', ' {"a":1,"i\\u0064":[1, {}]}', '[1, {}]'],
  ['id', '{"id":1,"id":2}', '2'],
  ['id', '{"a":{"id":1}}', undefined],
  ['0', '["x"]', undefined],
])('memberText: %s of %s is %s', (key, text, found) => {
  expect(memberText(text, key)).toBe(found);
});
