import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePolicy as compileLanguage } from '../../../src/core/policy/compile.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument, ValueDocument } from '../../../src/core/policy/document.ts';
import { runs } from '../../support/runs.ts';
import { call, caller, faultsOf } from './caller.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

test('a policy has its name, its own scope and, as written, the entry that covers a tool', () => {
  const policy = compilePolicy('demo', {
    scope: 'read write read',
    all: [{ scope: 'nested' }],
    tools: { 'get_**': {}, pay: { scope: 'payments' } },
  });
  expect(policy).toMatchObject({ name: 'demo', scope: ['read', 'write'] });
  expect(['get_price', 'pay', 'other'].map((tool) => policy.toolEntry(tool))).toEqual(['get_**', 'pay', undefined]);
});

test.each<[PolicyDocument, boolean]>([
  [{}, false],
  [{ lists: 'filter' }, false],
  [{ scope: 'read' }, true],
  [{ tools: { pay: { scope: 'payments' } } }, true],
  [{ mode: 'shadow', scope: 'read' }, false],
  [{ mode: 'enforce', scope: 'read' }, true],
])('%j may treat callers differently: %s', (document, tells) => {
  expect(compilePolicy('demo', document).distinguishesCallers).toBe(tells);
});

test('a policy has every scope that a challenge may name, once', () => {
  const document: PolicyDocument = {
    scope: 'read',
    any: [{ scope: 'a' }, { claims: { x: 1 }, all: [{ scope: 'b' }] }],
    not: { scope: 'never' },
    max_lifetime: '60s',
    tools: { pay: { scope: ['payments', 'read'] }, get: {} },
    resources: { 'a:b': { scope: 'reports' } },
  };
  expect(compilePolicy('p', document).scopes).toEqual(['read', 'a', 'b', 'reports', 'payments']);
});

test('a policy without scope and tools has neither', () => {
  const policy = compilePolicy('demo', {});
  expect(policy.scope).toEqual([]);
  expect(policy.toolEntry('pay')).toBeUndefined();
});

describe('faults', () => {
  const pointer = '"/a~b" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"';
  const expression = 'is not a JavaScript regular expression with the u flag:';

  test('are all reported at once, each with its path', () => {
    const document: PolicyDocument = {
      claims: { '/a~b': 'x', name: { matches: 'a\n: (' } },
      any: [{}, { claims: { risk: { below: Number.NaN } } }],
      all: [{ not: { claims: { id: 2 ** 53 } } }],
      tools: { 'get_*': {}, 'get_**': { claims: { name: { not: { matches: '[' } } } } },
    };
    expect(faultsOf(document)).toEqual([
      `claims./a~b: ${pointer}`,
      // One line for any expression.
      String.raw`claims.name.matches: "a\n: (" ${expression} Unterminated group`,
      'any[1].claims.risk.below: NaN is not a finite number',
      'all[0].not.claims.id: 9007199254740992 cannot be compared exactly; write a number up to 2^53 - 1, or a string',
      `tools.get_**.claims.name.not.matches: "[" ${expression} Unterminated character class`,
      'tools.get_**: matches the same tools as "get_*"; only one of them can apply',
    ]);
  });
});

test('any document gives a policy that decides as it explains, or faults with their places', () => {
  const value = fc.oneof(
    fc.constantFrom<ValueDocument>('acme', 7, true, { below: 50 }, { matches: '(' }, { present: false }),
    fc.double(),
  );
  const claims = fc.dictionary(fc.constantFrom('risk', '/a/b', '/~2', 'tenant', '__proto__'), value, { maxKeys: 3 });
  const condition = fc.record(
    { scope: fc.constantFrom('read', 'read pay'), claims, max_lifetime: fc.constant('60s') },
    { requiredKeys: [] },
  );
  const names = fc.constantFrom('get_*', 'get_**', 'pay', '*', 'prices://*', 'prices://..');
  const entries = fc.dictionary(names, condition, { maxKeys: 3 });
  const document: fc.Arbitrary<PolicyDocument> = fc.record(
    {
      scope: fc.constant('read'),
      claims,
      any: fc.array(condition, { minLength: 1, maxLength: 2 }),
      not: condition,
      tools: entries,
      resources: entries,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(document, claims, fc.constantFrom('pay', 'get_x', 'other'), (document, found, tool) => {
      const known = faultsOf(document);
      for (const fault of known) expect(fault).toMatch(/^[^:].*: ./s);
      if (known.length > 0) return;
      const policy = compilePolicy('demo', document);
      const principal = caller({ scope: 'read', claims: found, lifetime: 60 });
      const { allow, plan } = policy.decide(principal, call(tool));
      expect(explain(plan, principal, call(tool)).every(({ outcome }) => outcome === 'holds')).toBe(allow);
      // What it may call it could call.
      expect(!allow || policy.couldCall(principal, { kind: 'tool', name: tool })).toBe(true);
    }),
    { numRuns: runs },
  );
});

test.each<[PolicyDocument, object]>([
  [{}, { listsRequests: false, readsGatewayClaims: false, parts: new Map() }],
  [{ tools: { pay: {} } }, { listsRequests: false, parts: new Map() }],
  [{ requests: {} }, { listsRequests: true }],
  [{ claims: { tenant: 'x' } }, { readsGatewayClaims: false }],
  [{ claims: { tenant: 'x' }, max_age: '5m' }, { readsGatewayClaims: true }],
])('%j is %j', (document, traits) => {
  expect(compilePolicy('p', document)).toMatchObject(traits);
});

test('names what the policy lists, as written', () => {
  const { listed } = compilePolicy('p', { methods: { ping: {} }, tools: { 'get_*': {}, pay: { scope: 'x' } } });
  expect(listed).toEqual([
    { key: 'tools', name: 'get_*' },
    { key: 'tools', name: 'pay' },
    { key: 'methods', name: 'ping' },
  ]);
  expect(compilePolicy('p', {}).listed).toEqual([]);
});

describe('rules', () => {
  test('lists every rule that a decision can name, in the order of the conditions', () => {
    const policy = compilePolicy('p', {
      scope: 'read',
      claims: { tenant: 'acme' },
      any: [{ scope: 'admin' }, { claims: { role: 'boss' } }],
      all: [{ max_lifetime: '1h' }],
      not: { claims: { banned: true } },
      tools: { 'get_*': {}, pay: { scope: 'payments', arguments: { '/amount': { below: 5 } } } },
      resources: { 'file://{name}': { variables: { name: { claim: 'file' } } } },
      prompts: { hello: { approval: { by: {} } } },
    });
    expect(policy.rules.join(' ')).toBe(
      'scope claims.tenant any any[0].scope any[1].claims.role all[0].max_lifetime not ' +
        'resources.file://{name} resources.file://{name}.variables.name tools.get_* tools.pay tools.pay.scope ' +
        'tools.pay.arguments./amount prompts.hello prompts.hello.approval resources tools prompts',
    );
  });

  test('reads the claims of all conditions, and no others', () => {
    const policy = compilePolicy('p', {
      scope: 'read',
      claims: { tenant: 'x', '/realm/roles': { contains: 'y' }, nonce: { present: false } },
      any: [{ claims: { team: 'ops' } }],
      not: { claims: { banned: true } },
      max_lifetime: '1h',
      tools: { t: { all: [{ claims: { risk: { below: 5 } } }] } },
    });
    const claims = {
      tenant: 'a',
      realm: { roles: ['y'], other: 1 },
      team: 'dev',
      banned: false,
      risk: 3,
      email: 'alice@example.com',
    };
    expect({ ...policy.claimsRead(claims) }).toStrictEqual({
      tenant: 'a',
      '/realm/roles': ['y'],
      team: 'dev',
      banned: false,
      risk: 3,
    });
  });

  test('gives null for an unreachable claim, and leaves an absent one out', () => {
    const policy = compilePolicy('p', { claims: { '/realm/roles': { not: 'x' }, '/team/name': { not: 'x' } } });
    expect({ ...policy.claimsRead({ realm: '{"roles":"x"}' }) }).toStrictEqual({ '/realm/roles': null });
  });
});

test.each<PolicyDocument>([
  { tools: { pay: { approval: { by: {} } } } },
  { requests: { 'GET /a': { quota: [{ count: 1, per: '1h' }] } } },
])('refuses a key that nothing puts into effect: %j', (document) => {
  expect(() => compileLanguage('p', document)).toThrow(
    /: (?:tools\.pay\.approval|requests\["GET \/a"\]\.quota): no part of the gateway puts this key into effect$/,
  );
  expect(() => compilePolicy('p', document)).not.toThrow();
});
