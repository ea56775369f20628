import { describe, expect, test } from 'vitest';
import { hasCaseVariant, isObject, ownMember, ownMemberAt } from '../../../src/lib/json/own-member.ts';

describe('ownMember', () => {
  test.each([
    [{ a: 1 }, 'a', 1],
    [{ a: undefined }, 'a', undefined],
    [JSON.parse('{"__proto__":2}'), '__proto__', 2],
    [['x', 'y'], 1, 'y'],
    [['x', 'y'], '1', 'y'],
    [{ a: 1 }, 'b', undefined],
    [{}, 'constructor', undefined],
    [{}, '__proto__', undefined],
    ['text', 'length', undefined],
    ['text', 0, undefined],
    [null, 'a', undefined],
    [undefined, 'a', undefined],
    [1, 'toFixed', undefined],
  ])('%j has at %j: %j', (value: unknown, key, wanted) => {
    expect(ownMember(value, key)).toBe(wanted);
  });
});

test.each([
  [['a', 'b'], 1],
  [['a'], { b: 1 }],
  [[], { a: { b: 1 }, c: null }],
  [['a', 'b', 'c'], undefined],
  [['c', 'd'], undefined],
  [['x', 'y'], undefined],
])('ownMemberAt finds at %j: %j', (path, wanted) => {
  expect(ownMemberAt({ a: { b: 1 }, c: null }, path)).toEqual(wanted);
});

test.each([
  [{ name: 1 }, false],
  [{ Name: 1 }, true],
  [{ name: 1, NAME: 1 }, true],
  [{ names: 1, 'name ': 1 }, false],
  [{}, false],
])('%j has a key that differs from name only in case: %j', (object, wanted) => {
  expect(hasCaseVariant(object, 'name')).toBe(wanted);
});

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['{}', false],
  [undefined, false],
])('%j is an object: %j', (value, wanted) => expect(isObject(value)).toBe(wanted));
