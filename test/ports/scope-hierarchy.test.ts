import { expect, test } from 'vitest';
import * as fc from 'fast-check';
import { closeHierarchy, expandScopes } from '../../src/ports/scope-hierarchy.ts';

test.each<[Record<string, string[]>, Record<string, string[]>]>([
  [{}, {}],
  [{ write: ['read'] }, { write: ['read'] }],
  [
    { admin: ['write'], write: ['read'] },
    { admin: ['write', 'read'], write: ['read'] },
  ],
  [
    { a: ['b', 'c'], b: ['d'], c: ['d'] },
    { a: ['b', 'c', 'd'], b: ['d'], c: ['d'] },
  ],
  [
    { a: ['b'], b: ['c'], c: ['a'] },
    { a: ['b', 'c'], b: ['c', 'a'], c: ['a', 'b'] },
  ],
  [{ a: ['a'] }, { a: [] }],
])('%j closes to %j', (scopes, expected) => {
  expect(Object.fromEntries(closeHierarchy(scopes))).toEqual(expected);
});

test('a scope may have the name of a member that every object inherits', () => {
  const scopes: Record<string, string[]> = JSON.parse('{"__proto__":["read"]}');
  expect(closeHierarchy(scopes).get('__proto__')).toEqual(['read']);
  expect(closeHierarchy({ write: ['constructor'] }).get('write')).toEqual(['constructor']);
});

const hierarchy = closeHierarchy({ admin: ['write'], write: ['read'] });
test.each([
  [[], []],
  [['read'], ['read']],
  [['write'], ['read', 'write']],
  [['admin'], ['admin', 'read', 'write']],
  [['other'], ['other']],
  [
    ['read', 'read', 'write'],
    ['read', 'write'],
  ],
])('R-84: the scopes %j expand to %j', (granted, expected) => {
  expect([...expandScopes(granted, hierarchy)].toSorted()).toEqual(expected);
});

test('expanding expanded scopes adds nothing', () => {
  const scope = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  fc.assert(
    fc.property(fc.dictionary(scope, fc.array(scope)), fc.array(scope), (scopes, granted) => {
      const hierarchy = closeHierarchy(scopes);
      const once = expandScopes(granted, hierarchy);
      expect(expandScopes([...once], hierarchy)).toEqual(once);
      for (const [scope, implied] of hierarchy) expect(implied).not.toContain(scope);
    }),
  );
});
