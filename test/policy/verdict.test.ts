import { describe, expect, test } from 'vitest';
import { mcpMethod } from '../../src/model/mcp.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { maxMatchedLength } from '../../src/policy/predicate.ts';
import { type Given, caller, decide, told } from './caller.ts';

type Row = readonly [given: Given, told: string];

const trader = { claims: { role: 'trader' } };
const allow = 'allow policy';

const table: readonly (readonly [string, PolicyDocument, readonly Row[]])[] = [
  [
    'an empty policy accepts any valid token',
    {},
    [
      [{}, allow],
      [{ lifetime: null }, allow],
    ],
  ],
  [
    'scope needs every scope',
    { scope: 'read write' },
    [
      [{ scope: 'read write' }, allow],
      [{ scope: 'write other read' }, allow],
      [{ scope: 'read' }, 'deny scope.insufficient scope [read write]'],
      [{ scope: 'readwrite' }, 'deny scope.insufficient scope [read write]'],
      [{ scope: 'READ WRITE' }, 'deny scope.insufficient scope [read write]'],
      [{}, 'deny scope.insufficient scope [read write]'],
    ],
  ],
  [
    'scope may be a list, and the challenge has no duplicates',
    { scope: ['b', 'a', 'b'] },
    [[{}, 'deny scope.insufficient scope [b a]']],
  ],
  [
    'claims must all hold, and the denial names the first that fails',
    { claims: { tenant: 'acme', '/realm_access/roles': { contains: 'trader' } } },
    [
      [{ claims: { tenant: 'acme', realm_access: { roles: ['trader'] } } }, allow],
      [{ claims: { tenant: 'acme' } }, 'deny claim.denied claims./realm_access/roles'],
      [{ claims: { realm_access: { roles: ['trader'] } } }, 'deny claim.denied claims.tenant'],
      [{}, 'deny claim.denied claims.tenant'],
    ],
  ],
  [
    'a member that every object inherits is no claim',
    { claims: { constructor: { present: true } } },
    [
      [{ claims: { constructor: 'x' } }, allow],
      [{}, 'deny claim.denied claims.constructor'],
    ],
  ],
  [
    'max_lifetime limits exp - iat',
    { max_lifetime: '1m' },
    [
      [{ lifetime: 60 }, allow],
      [{ lifetime: 0 }, allow],
      [{ lifetime: 60.5 }, 'deny lifetime.exceeded max_lifetime'],
      [{ lifetime: -1 }, 'deny lifetime.exceeded max_lifetime'],
      [{ lifetime: Number.NaN }, 'deny lifetime.exceeded max_lifetime'],
      [{ lifetime: null }, 'deny lifetime.exceeded max_lifetime'],
    ],
  ],
  [
    'max_lifetime may be in milliseconds',
    { max_lifetime: '1500ms' },
    [
      [{ lifetime: 1.5 }, allow],
      [{ lifetime: 2 }, 'deny lifetime.exceeded max_lifetime'],
    ],
  ],
  [
    'max_lifetime may be in seconds',
    { max_lifetime: '30s' },
    [
      [{ lifetime: 30 }, allow],
      [{ lifetime: 31 }, 'deny lifetime.exceeded max_lifetime'],
    ],
  ],
  [
    'max_lifetime may be in hours',
    { max_lifetime: '2h' },
    [
      [{ lifetime: 7200 }, allow],
      [{ lifetime: 7201 }, 'deny lifetime.exceeded max_lifetime'],
    ],
  ],
  [
    'a refused claim wins over a missing scope, a missing scope over the lifetime',
    { scope: 'read', claims: { role: 'trader' }, max_lifetime: '1m' },
    [
      [{ scope: 'read', ...trader, lifetime: 60 }, allow],
      [{}, 'deny claim.denied claims.role'],
      [trader, 'deny scope.insufficient scope [read]'],
      [{ scope: 'read', ...trader }, 'deny lifetime.exceeded max_lifetime'],
      [{ scope: 'read' }, 'deny claim.denied claims.role'],
    ],
  ],
  [
    'all needs each part, and the challenge has the scopes of each',
    { scope: 'a', all: [{ scope: 'b' }, { scope: 'c a', claims: { role: 'trader' } }] },
    [
      [{ scope: 'a b c', ...trader }, allow],
      [{ scope: 'a c', ...trader }, 'deny scope.insufficient all[0].scope [a b c]'],
      [trader, 'deny scope.insufficient scope [a b c]'],
      [{ scope: 'a b c' }, 'deny claim.denied all[1].claims.role'],
      [{}, 'deny claim.denied all[1].claims.role'],
    ],
  ],
  [
    'any needs one alternative, and its scopes',
    { scope: 'read', any: [{ scope: 'admin' }, { scope: 'trade', claims: { role: 'trader' } }] },
    [
      [{ scope: 'read admin' }, allow],
      [{ scope: 'read trade', ...trader }, allow],
      [{ scope: 'admin' }, 'deny scope.insufficient scope [read admin]'],
      [{ scope: 'trade', ...trader }, 'deny scope.insufficient scope [read trade]'],
    ],
  ],
  [
    'any asks for the scopes of the first alternative that lacks only scopes',
    { scope: 'read', any: [{ claims: { role: 'boss' } }, { scope: 'trade' }, { scope: 'admin' }] },
    [
      [{ scope: 'read' }, 'deny scope.insufficient any[1].scope [read trade]'],
      [{}, 'deny scope.insufficient scope [read trade]'],
      [{ scope: 'read', claims: { role: 'boss' } }, allow],
    ],
  ],
  [
    'any denies without a challenge if no token could meet an alternative',
    { scope: 'read', any: [{ scope: 'admin', claims: { role: 'boss' } }, { claims: { team: { matches: '^ops-' } } }] },
    [
      [{ scope: 'read' }, 'deny alternatives.exhausted any'],
      [{}, 'deny alternatives.exhausted any'],
      [{ scope: 'read', claims: { role: 'boss' } }, 'deny scope.insufficient any[0].scope [read admin]'],
      [{ scope: 'read', claims: { team: 'ops-1' } }, allow],
    ],
  ],
  [
    'any asks for a scope before a lifetime, in either order',
    { any: [{ max_lifetime: '1m' }, { scope: 'admin' }] },
    [
      [{ lifetime: 60 }, allow],
      [{}, 'deny scope.insufficient any[1].scope [admin]'],
    ],
  ],
  [
    'any asks for the scope of a new token, which also has a new lifetime',
    { scope: 'read', any: [{ claims: { role: 'boss' } }, { scope: 'admin', max_lifetime: '1m' }] },
    [
      [{ scope: 'read admin', lifetime: 60 }, allow],
      [{ scope: 'read admin' }, 'deny alternatives.exhausted any'],
      [{ scope: 'admin' }, 'deny scope.insufficient scope [read admin]'],
    ],
  ],
  [
    'any may contain any',
    { any: [{ any: [{ claims: { role: 'boss' } }, { scope: 'deep' }] }, { scope: 'flat' }] },
    [
      [{}, 'deny scope.insufficient any[0].any[1].scope [deep]'],
      [{ scope: 'flat' }, allow],
    ],
  ],
  [
    'not denies an excluded caller before it asks for a scope',
    { scope: 'read', not: { claims: { ai_agent: true } } },
    [
      [{ scope: 'read' }, allow],
      [{ scope: 'read', claims: { ai_agent: false } }, allow],
      [{ scope: 'read', claims: { ai_agent: true } }, 'deny exclusion.matched not'],
      [{ claims: { ai_agent: true } }, 'deny exclusion.matched not'],
      [{}, 'deny scope.insufficient scope [read]'],
    ],
  ],
  [
    'not does not exclude a token without the scope or with a longer lifetime, and asks for neither',
    { scope: 'read', not: { scope: 'admin', max_lifetime: '1m' } },
    [
      [{ scope: 'read' }, allow],
      [{ scope: 'read admin' }, allow],
      [{ scope: 'read', lifetime: 60 }, allow],
      [{ scope: 'read admin', lifetime: 60 }, 'deny exclusion.matched not'],
      [{}, 'deny scope.insufficient scope [read]'],
    ],
  ],
  ['not of an empty condition denies every caller', { not: {} }, [[{}, 'deny exclusion.matched not']]],
  [
    'not may contain not',
    { not: { not: { scope: 'read' } } },
    [
      [{ scope: 'read' }, allow],
      [{}, 'deny exclusion.matched not'],
    ],
  ],
];

describe.each(table)('%s', (_, document, rows) => {
  test.each(rows)('%j: %s', (given, expected) => {
    expect(told(decide(document, given))).toBe(expected);
  });
});

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
    expect(decision.plan.explain(caller(), attempt)).toMatchObject([{ rule: 'scope', outcome: 'fails' }]);
  });
});
