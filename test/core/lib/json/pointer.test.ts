import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  claimReader,
  memberReader,
  pointerReader,
  pointerStep,
  strictPointerReader,
  unreachable,
} from '../../../../src/core/lib/json/pointer.ts';
import { property } from '../../../support/property.ts';

function read(name: string, json: string): unknown {
  const reader = memberReader(name);
  if (reader === undefined) throw new TypeError('malformed');
  const object: Record<string, unknown> = JSON.parse(json);
  return reader(object);
}

test.each([
  // RFC 6901 §5
  ['/foo', '{"foo":["bar","baz"]}', ['bar', 'baz']],
  ['/foo/0', '{"foo":["bar","baz"]}', 'bar'],
  ['/', '{"":0}', 0],
  ['/a~1b', '{"a/b":1}', 1],
  ['/c%d', '{"c%d":2}', 2],
  ['/m~0n', '{"m~n":8}', 8],
  ['/m~01n', '{"m~1n":9,"m/n":0}', 9],
  ['/ ', '{" ":7}', 7],
  ['/realm_access/roles', '{"realm_access":{"roles":["x"]}}', ['x']],
  ['/a/0/b', '{"a":[{"b":1}]}', 1],
  ['/a/0', '{"a":{"0":"member"}}', 'member'],
  ['/a/01', '{"a":{"01":"member"}}', 'member'],
  // names
  ['risk', '{"risk":0}', 0],
  ['https://example.com/role', '{"https://example.com/role":"x"}', 'x'],
  ['a.b', '{"a.b":1,"a":{"b":2}}', 1],
  ['a/b', '{"a/b":1,"a":{"b":2}}', 1],
  ['a~b', '{"a~b":1}', 1],
  ['nothing', '{"nothing":null}', null],
  ['__proto__', '{"__proto__":"own"}', 'own'],
  ['/__proto__/x', '{"__proto__":{"x":1}}', 1],
  ['constructor', '{"constructor":"own"}', 'own'],
])('%s in %s is %j', (name, json, expected) => {
  expect(read(name, json)).toEqual(expected);
});

test.each([
  ['risk', '{}'],
  ['constructor', '{}'],
  ['__proto__', '{}'],
  ['toString', '{}'],
  ['/constructor/name', '{}'],
  ['/a/__proto__', '{"a":{}}'],
  ['/__proto__/polluted', '{"own":{"__proto__":{"polluted":true}}}'],
  ['/a/length', '{"a":[1,2]}'],
  ['/a/map', '{"a":[]}'],
  ['/a/2', '{"a":[1,2]}'],
  ['/a/-', '{"a":[1,2]}'],
  ['/a/-1', '{"a":[1,2]}'],
  ['/a/01', '{"a":[1,2]}'],
  ['/a/1e0', '{"a":[1,2]}'],
  ['/a/', '{"a":[1,2]}'],
  ['/a/0', '{"a":"text"}'],
  ['/a/length', '{"a":"text"}'],
  ['/a/b', '{"a":null}'],
  ['/a/b', '{"a":1}'],
  ['/a/b', '{"b":1}'],
])('%s in %s is missing', (name, json) => {
  expect(read(name, json)).toBeUndefined();
});

test.each(['/~', '/a~', '/a~2', '/~/a', '/a/~~0'])('%s is malformed', (name) => {
  expect(memberReader(name)).toBeUndefined();
  expect(strictPointerReader(name)).toBeUndefined();
});

describe('properties', () => {
  property(
    'a pointer finds any path through an object',
    [fc.array(fc.string(), { minLength: 1, maxLength: 5 })],
    (keys) => {
      const json = keys.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, '"found"');
      const pointer = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
      expect(read(pointer, json)).toBe('found');
    },
  );

  property(
    'any pointer reads any object without throwing',
    [fc.string(), fc.dictionary(fc.string(), fc.jsonValue())],
    (text, claims) => {
      expect(() => memberReader(`/${text}`)?.(claims)).not.toThrow();
      expect(() => memberReader(text)?.(claims)).not.toThrow();
    },
  );
});

test.each([undefined, null, 7, 'text', [], {}])('a pointer into %j finds nothing', (value) => {
  expect(pointerReader('/length')?.(value)).toBeUndefined();
  expect(pointerReader('/0')?.(value)).toBeUndefined();
});

describe('a pointer into a value that a caller sent', () => {
  const sent = { amount: 7, nothing: null, to: [{ IBAN: 'SE1' }], ſcope: 'x', ﬁle: 'x', café: 'x' };
  test.each([
    ['/amount', 7],
    ['/to/0/IBAN', 'SE1'],
    ['/number', undefined],
    ['/to/1', undefined],
    ['/to/-', undefined],
    ['/amount/eur', unreachable],
    ['/amount/eur/0', unreachable],
    ['/to/IBAN', unreachable],
    ['/to/length', unreachable],
    ['/to/x0', unreachable],
    ['/to/0x', unreachable],
    ['/to/10', undefined],
    ['/nothing/eur', undefined],
  ])('%s is %j', (pointer, expected) => {
    expect(strictPointerReader(pointer)?.(sent)).toBe(expected);
  });

  // A reader that ignores case would find it, and `present: false` would not have held.
  test.each(['/Amount', '/TO/0/IBAN', '/to/0/iban', '/scope', '/file', '/cafe\u0301'])(
    '%s is there for some readers: an error',
    (pointer) => {
      expect(() => strictPointerReader(pointer)?.(sent)).toThrow('only in case');
    },
  );
});

test('the step to a key, by RFC 6901 §3', () => {
  expect(pointerStep('~1/a~')).toBe('/~01~1a~0');
});

test('a pointer may begin in a list', () => {
  expect(pointerReader('/0/a')?.([{ a: 1 }])).toBe(1);
});

describe('the value of a claim for a condition', () => {
  const claims = { realm: '{"roles":["admin"]}', roles: ['a'], none: null };
  test.each([
    ['/realm/roles', unreachable],
    ['/roles/a', unreachable],
    ['/roles/0', 'a'],
    ['/roles/1', undefined],
    ['/none/roles', undefined],
    ['/other/roles', undefined],
    ['realm', claims.realm],
    ['/~', undefined],
  ])('%s is %s', (name, expected) => expect(claimReader(name)?.(claims)).toBe(expected));
});
