import { describe, expect, test } from 'vitest';
import { folded } from '../../../../src/core/lib/look-alike.ts';
import {
  hasCaseVariant,
  hasCaseVariantAt,
  isObject,
  ownMember,
  ownMemberAt,
} from '../../../../src/core/lib/json/own-member.ts';

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

test('each character makes a case variant of a key where it folds to a part of it', () => {
  const others: string[] = [];
  for (let code = 0; code <= 0x2ffff; code += 1) {
    const character = String.fromCodePoint(code);
    // Those of one plane after the other, and of all that fold in some way.
    if (code > 0x80 && character.normalize('NFKC') === character && !/\p{CWCM}|\p{M}/u.test(character)) continue;
    for (const [key, name] of [
      [character, 'i'],
      [`k${character}`, 'ks'],
      [`i${character}`, 'i'],
      [`a${character}`, 'affi'],
      [`gr${character}`, 'grö'],
    ] as const) {
      const expected = key !== name && folded(key) === folded(name);
      if (hasCaseVariant({ [key]: 1 }, name) !== expected) others.push(key);
    }
  }
  expect(others).toEqual([]);
});

test.each([
  ['gro\u0308\u00dfe', 'größe', true],
  ['GRÖSSE', 'größe', true],
  ['grosse', 'größe', false],
  ['i\u0307d', 'id', true],
  ['\u0130D', 'id', true],
  ['a\u0307d', 'ad', false],
  ['E\u0301', '\u00e9', true],
])('%s as a case variant of %s: %s', (key, name, isVariant) => {
  expect(hasCaseVariant({ [key]: 1 }, name)).toBe(isVariant);
});

test.each([
  [[], true],
  [['a'], true],
  [['A'], true],
  [['b'], true],
  [['b', 'k'], true],
  [['c'], false],
  [['c', '0', 'd'], false],
  [['e'], true],
  [['e', '1'], true],
  [['e', '0'], false],
  [['missing', 'x'], false],
  [['g'], false],
])('hasCaseVariantAt of %j: %j', (path, expected) => {
  const value = { a: 1, A: 2, b: { k: 1, '\u212a': 2 }, c: [{ d: 1 }], e: [1, { f: 1, F: 1 }], g: [null] };
  expect(hasCaseVariantAt(value, path)).toBe(expected);
});
