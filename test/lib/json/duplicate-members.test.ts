import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasDuplicateMembers } from '../../../src/lib/json/duplicate-members.ts';

const duplicates = (text: string): boolean => hasDuplicateMembers(text, JSON.parse(text));

describe('finds', () => {
  test.for([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    String.raw`{"a":1,"\u0061":2}`,
    '[{"b":{"a":1,"a":2}}]',
    '{"a" : 1, "a"\n:2}',
    '{"a":{"b":1},"a":null}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":[{"b":1,"b":[]}]}',
    '{"":1,"":2}',
  ])('%s', (text) => {
    expect(duplicates(text)).toBe(true);
  });
});

describe('finds none in', () => {
  test.for([
    '{}',
    'null',
    '1',
    '"a"',
    '[]',
    '["a","a"]',
    '{"a":1,"A":2}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":2}]',
    '{"a":"a","b":"a"}',
    String.raw`{"a":"\"b\":1,\"b\":2"}`,
    String.raw`{"a":"x\\","b":": "}`,
    '{"__proto__":{"a":1}}',
    '{"a":"b" ,"c":":"}',
  ])('%s', (text) => {
    expect(duplicates(text)).toBe(false);
  });
});

test('finds none in what JSON.stringify writes', () => {
  const written = fc.json().map((text) => JSON.stringify(JSON.parse(text)));
  fc.assert(
    fc.property(written, (text) => {
      expect(duplicates(text)).toBe(false);
    }),
  );
});

test('does not overflow the stack', () => {
  const deep = `${'['.repeat(5000)}{"a":1,"a":2}${']'.repeat(5000)}`;
  expect(duplicates(deep)).toBe(true);
});
