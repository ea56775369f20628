import { describe, expect, test } from 'vitest';
import { mcpMethod } from '../../../src/core/model/mcp.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { maxMatchedLength } from '../../../src/core/policy/predicate.ts';
import { caller, decide, told } from './caller.ts';
import { decides } from './decides.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

decides(
  'an empty policy accepts any valid token',
  {},
  `
http → allow policy
for null | http → allow policy`,
);

decides(
  'scope needs every scope',
  { scope: 'read write' },
  `
read write | http → allow policy
write other read | http → allow policy
read | http → deny scope.insufficient scope [read write]
readwrite | http → deny scope.insufficient scope [read write]
READ WRITE | http → deny scope.insufficient scope [read write]
http → deny scope.insufficient scope [read write]`,
);

decides(
  'scope may be a list, and the challenge has no duplicates',
  { scope: ['b', 'a', 'b'] },
  `
http → deny scope.insufficient scope [b a]`,
);

decides(
  'claims must all hold, and the denial names the first that fails',
  { claims: { tenant: 'acme', '/realm_access/roles': { contains: 'trader' } } },
  `
{"tenant":"acme","realm_access":{"roles":["trader"]}} | http → allow policy
{"tenant":"acme"} | http → deny claim.denied claims./realm_access/roles
{"realm_access":{"roles":["trader"]}} | http → deny claim.denied claims.tenant
http → deny claim.denied claims.tenant`,
);

decides(
  'a member that every object inherits is no claim',
  { claims: { constructor: { present: true } } },
  `
{"constructor":"x"} | http → allow policy
http → deny claim.denied claims.constructor`,
);

decides(
  'max_lifetime limits exp - iat',
  { max_lifetime: '1m' },
  `
for 60s | http → allow policy
for 0s | http → allow policy
for 60.5s | http → deny lifetime.exceeded max_lifetime
for -1s | http → deny lifetime.exceeded max_lifetime
for NaN | http → deny lifetime.exceeded max_lifetime
for null | http → deny lifetime.exceeded max_lifetime`,
);

test.each([
  ['1500ms', 1.5],
  ['30s', 30],
  ['2h', 7200],
])('a max_lifetime of %s allows %d seconds and no more', (max_lifetime, lifetime) => {
  expect(told(decide({ max_lifetime }, { lifetime }))).toBe('allow policy');
  expect(told(decide({ max_lifetime }, { lifetime: lifetime + 0.5 }))).toBe('deny lifetime.exceeded max_lifetime');
});

decides(
  'a refused claim wins over a missing scope, a missing scope over the lifetime',
  { scope: 'read', claims: { role: 'trader' }, max_lifetime: '1m' },
  `
read {"role":"trader"} for 60s | http → allow policy
http → deny claim.denied claims.role
{"role":"trader"} | http → deny scope.insufficient scope [read]
read {"role":"trader"} | http → deny lifetime.exceeded max_lifetime
read | http → deny claim.denied claims.role`,
);

decides(
  'all needs each part, and the challenge has the scopes of each',
  { scope: 'a', all: [{ scope: 'b' }, { scope: 'c a', claims: { role: 'trader' } }] },
  `
a b c {"role":"trader"} | http → allow policy
a c {"role":"trader"} | http → deny scope.insufficient all[0].scope [a b c]
{"role":"trader"} | http → deny scope.insufficient scope [a b c]
a b c | http → deny claim.denied all[1].claims.role
http → deny claim.denied all[1].claims.role`,
);

decides(
  'any needs one alternative, and its scopes',
  { scope: 'read', any: [{ scope: 'admin' }, { scope: 'trade', claims: { role: 'trader' } }] },
  `
read admin | http → allow policy
read trade {"role":"trader"} | http → allow policy
admin | http → deny scope.insufficient scope [read admin]
trade {"role":"trader"} | http → deny scope.insufficient scope [read trade]`,
);

decides(
  'any asks for the scopes of the first alternative that lacks only scopes',
  { scope: 'read', any: [{ claims: { role: 'boss' } }, { scope: 'trade' }, { scope: 'admin' }] },
  `
read | http → deny scope.insufficient any[1].scope [read trade]
http → deny scope.insufficient scope [read trade]
read {"role":"boss"} | http → allow policy`,
);

decides(
  'any denies without a challenge if no token could meet an alternative',
  { scope: 'read', any: [{ scope: 'admin', claims: { role: 'boss' } }, { claims: { team: { matches: '^ops-' } } }] },
  `
read | http → deny alternatives.exhausted any
http → deny alternatives.exhausted any
read {"role":"boss"} | http → deny scope.insufficient any[0].scope [read admin]
read {"team":"ops-1"} | http → allow policy`,
);

decides(
  'any asks for a scope before a lifetime, in either order',
  { any: [{ max_lifetime: '1m' }, { scope: 'admin' }] },
  `
for 60s | http → allow policy
http → deny scope.insufficient any[1].scope [admin]`,
);

decides(
  'any asks for the scope of a new token, which also has a new lifetime',
  { scope: 'read', any: [{ claims: { role: 'boss' } }, { scope: 'admin', max_lifetime: '1m' }] },
  `
read admin for 60s | http → allow policy
read admin | http → deny alternatives.exhausted any
admin | http → deny scope.insufficient scope [read admin]`,
);

decides(
  'any may contain any',
  { any: [{ any: [{ claims: { role: 'boss' } }, { scope: 'deep' }] }, { scope: 'flat' }] },
  `
http → deny scope.insufficient any[0].any[1].scope [deep]
flat | http → allow policy`,
);

decides(
  'not denies an excluded caller before it asks for a scope',
  { scope: 'read', not: { claims: { ai_agent: true } } },
  `
read | http → allow policy
read {"ai_agent":false} | http → allow policy
read {"ai_agent":true} | http → deny exclusion.matched not
{"ai_agent":true} | http → deny exclusion.matched not
http → deny scope.insufficient scope [read]`,
);

decides(
  'not does not exclude a token without the scope or with a longer lifetime, and asks for neither',
  { scope: 'read', not: { scope: 'admin', max_lifetime: '1m' } },
  `
read | http → allow policy
read admin | http → allow policy
read for 60s | http → allow policy
read admin for 60s | http → deny exclusion.matched not
http → deny scope.insufficient scope [read]`,
);

decides('not of an empty condition denies every caller', { not: {} }, 'http → deny exclusion.matched not');

decides(
  'not may contain not',
  { not: { not: { scope: 'read' } } },
  `
read | http → allow policy
http → deny exclusion.matched not`,
);

describe('R-83: an error while evaluating is a denial', () => {
  const claims = { name: 'x'.repeat(maxMatchedLength + 1) };
  test.each<PolicyDocument>([
    { claims: { name: { matches: 'x' } } },
    { not: { claims: { name: { matches: 'y' } } } },
    { claims: { name: { not: { matches: 'y' } } } },
    { any: [{ claims: { name: { matches: 'y' } } }, {}] },
  ])('%j', (document) => {
    const decision = decide(document, { claims });
    expect(told(decision)).toBe('deny policy.error policy');
    expect(decision).toMatchObject({ denial: { detail: 'RangeError: matches tests 4096 characters, found 4097' } });
  });

  test('shadow mode allows the call and records the error', () => {
    const document: PolicyDocument = { mode: 'shadow', not: { claims: { name: { matches: 'y' } } } };
    expect(decide(document, { claims })).toMatchObject({ allow: true, shadow: { reason: 'policy.error' } });
  });

  test('an alternative that holds is enough, whatever a later one is', () => {
    const document: PolicyDocument = { any: [{}, { claims: { name: { matches: 'y' } } }] };
    expect(told(decide(document, { claims }))).toBe('allow policy');
  });

  test('an earlier condition that fails is reported instead', () => {
    const document: PolicyDocument = { claims: { role: 'trader', name: { matches: 'x' } } };
    expect(told(decide(document, { claims }))).toBe('deny claim.denied claims.role');
  });

  test.each([
    [new TypeError('boom'), 'TypeError: boom'],
    ['boom', '"boom" was thrown'],
    [undefined, 'nothing was thrown'],
  ])('denies when %s is thrown', (thrown, detail) => {
    const claims = {
      get name(): never {
        throw thrown;
      },
    };
    const policy = compilePolicy('test', { not: { claims: { name: 'x' } } });
    const decision = policy.decide(caller({ claims }), { kind: 'http' });
    expect(told(decision)).toBe('deny policy.error policy');
    expect(decision).toMatchObject({ denial: { detail } });
  });

  test('denies when what is called cannot be read, and explains the conditions of the policy', () => {
    const attempt = {
      kind: 'mcp',
      method: mcpMethod('tools/call'),
      get targets(): never {
        throw new TypeError('boom');
      },
      arguments: undefined,
    } as const;
    const decision = decide({ scope: 'read', tools: { pay: {} } }, {}, attempt);
    expect(told(decision)).toBe('deny policy.error policy');
    expect(explain(decision.plan, caller(), attempt)).toMatchObject([{ rule: 'scope', outcome: 'fails' }]);
  });
});
