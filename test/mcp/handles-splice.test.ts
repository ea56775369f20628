import { assert, jsonValue, nat, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spliceStrings } from '../../src/mcp/handles-splice.ts';

describe('spliceStrings', () => {
  test('agrees with JSON.parse, in any JSON', () => {
    assert(
      property(jsonValue(), jsonValue(), nat(3), string(), (before, after, spaces, to) => {
        const value = { before, '': [before, { deep: 'from' }, after], after };
        const changed = spliceStrings(JSON.stringify(value, null, spaces), [
          { path: ['', '1', 'deep'], from: 'from', to },
        ]);
        expect(changed).toBe(JSON.stringify({ before, '': [before, { deep: to }, after], after }, null, spaces));
      }),
    );
  });

  test.each([
    ['is not there', '{"a":1}'],
    ['is another', '{"a":{"b":"y"}}'],
    ['is no string', '{"a":{"b":["x"]}}'],
    ['stands twice', '{"a":{"b":"x","b":"x"}}'],
    ['is below a string', '{"a":"x"}'],
  ])('a string that %s', (_, text) => {
    expect(() => spliceStrings(text, [{ path: ['a', 'b'], from: 'x', to: 'z' }])).toThrow(SyntaxError);
  });
});
