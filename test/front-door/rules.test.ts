/** Small rules of the front door, as tables. */
import { describe, expect, test } from 'vitest';
import { createClaimsReader } from '../../src/front-door/people.ts';
import { createProviderOfAddress } from '../../src/front-door/identity-provider.ts';
import { createScopeRules } from '../../src/front-door/scope-rules.ts';
import type { FrontDoorScope, IdentityProvider } from '../../src/ports/front-door.ts';
import { subjectOf } from '../../src/tokens/front-door-subject.ts';

describe('the provider of an address', () => {
  const provider = (name: string, ...domains: readonly string[]) => ({ name, domains }) as unknown as IdentityProvider;
  const choose = createProviderOfAddress([provider('acme', 'acme.com'), provider('labs', 'labs.acme.com')]);

  test.each([
    ['jane@acme.com', 'acme'],
    [' Jane@ACME.com ', 'acme'],
    ['jane@x.acme.com', 'acme'],
    ['jane@labs.acme.com', 'labs'],
    ['jane@a.labs.acme.com', 'labs'],
    ['jane@evilacme.com', undefined],
    ['jane@acme.com.evil.example', undefined],
    ['jane@acme.com@evil.example', undefined],
    ['jane@com', undefined],
    ['acme.com', undefined],
    ['', undefined],
  ])('%j: %s', (address, name) => {
    expect(choose(address)?.name).toBe(name);
  });
});

describe('mapped claims', () => {
  const reader = createClaimsReader(
    new Map([
      ['role', '/roles/0'],
      ['tenant', 'tid'],
      ['__proto__', 'odd'],
    ]),
  );

  test.each([
    [[{ roles: ['trader', 'user'], tid: 'acme' }], { role: 'trader', tenant: 'acme' }],
    [[{ tid: 'acme' }, { roles: ['user'], tid: 'other' }], { role: 'user', tenant: 'acme' }],
    [[{ tid: null }, { tid: 7 }], { tenant: 7 }],
    [[{ tid: ['a', 1, true] }], { tenant: ['a', 1, true] }],
    [[{ tid: { a: 1 } }], {}],
    [[{ tid: [{ a: 1 }] }], {}],
    [[{ roles: 'trader' }], {}],
    [[{}], {}],
  ])('of %j are %j', (sources, claims) => {
    expect(reader.read(...sources)).toEqual(claims);
  });

  test('may be named like a member of every object', () => {
    expect(Object.entries(reader.read({ odd: 'x' }))).toEqual([['__proto__', 'x']]);
  });
});

describe('scopes', () => {
  const scope = (lifetimeMs?: number, maxAgeMs?: number): FrontDoorScope => ({ title: 'T', lifetimeMs, maxAgeMs });
  const rules = createScopeRules({
    scopes: new Map([
      ['read', scope()],
      ['pay', scope(60_000, 300_000)],
      ['admin', scope(30_000, 120_000)],
      ['long', scope(7_200_000)],
    ]),
    tokens: { format: 'opaque', lifetimeMs: 900_000 },
  });

  test.each([
    [['read'], 900, undefined],
    [['read', 'pay'], 60, 300],
    [['pay', 'admin'], 30, 120],
    [['long'], 900, undefined],
    [['unknown'], 900, undefined],
  ])('%j live %s s and need a sign-in of %s s', (names, lifetime, maxAge) => {
    expect([rules.lifetimeSeconds(names), rules.maxAgeSeconds(names)]).toEqual([lifetime, maxAge]);
  });

  test('are known once each, in any text', () => {
    expect(rules.known('pay read pay evil')).toEqual(['pay', 'read']);
    expect(rules.known(undefined)).toEqual([]);
  });

  test.each([
    [0, 'read pay admin long'],
    [120, 'read pay admin long'],
    [120.5, 'read pay long'],
    [300, 'read pay long'],
    [301, 'read long'],
    [Infinity, 'read long'],
  ])('fit a sign-in that is %s s old: %s', (age, names) => {
    expect(rules.freshEnough(age)).toBe(names);
  });
});

test('a subject depends on the source, the name and the subject, each as a whole', () => {
  const all = [
    subjectOf('provider', 'a', 'bc'),
    subjectOf('provider', 'ab', 'c'),
    subjectOf('assertion', 'a', 'bc'),
    subjectOf('provider', 'a', 'b'),
  ];
  expect(new Set(all).size).toBe(4);
  expect(subjectOf('provider', 'a', 'bc')).toBe('7sEdv0xCWZAbgjmJD2OFiIg-Mbxm4QLxp5jVflJDkqM');
});
