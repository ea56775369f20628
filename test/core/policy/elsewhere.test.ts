/** Claims that a token leaves to another source: OpenID Connect Core §5.6.2, and Entra ID's groups overage. */
import { describe, expect, test } from 'vitest';
import { denialIn } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { call, caller } from './caller.ts';

const elsewhere = { _claim_names: { groups: 'src1', acr: 'src1', auth_time: 'src1' }, _claim_sources: { src1: {} } };
const tokens: readonly (readonly [string, Record<string, unknown>])[] = [
  ['_claim_names', elsewhere],
  ['_claim_names beside a value', { ...elsewhere, groups: ['staff'] }],
  ['hasgroups', { hasgroups: true }],
  ['hasgroups as a text', { hasgroups: 'true' }],
];

function allows(document: PolicyDocument, claims: Record<string, unknown>): boolean {
  return compilePolicy('p', document).decide(caller({ claims }), call('pay')).allow;
}

describe.each(tokens)('%s: a condition on groups does not hold', (_, claims) => {
  test.for<PolicyDocument>([
    { claims: { groups: { contains: 'staff' } } },
    { claims: { groups: { present: true } } },
    { claims: { groups: { present: false } } },
    { claims: { groups: { not: { contains: 'guest' } } } },
    { claims: { '/groups/0': 'staff' } },
    { not: { claims: { groups: { contains: 'guest' } } } },
    { not: { claims: { groups: { present: true } } } },
    { not: { claims: { groups: { present: false } } } },
    { not: { claims: { '/groups/0': 'guest' } } },
    { not: { any: [{ claims: { groups: { contains: 'guest' } } }] } },
    { not: { not: { claims: { groups: { contains: 'staff' } } } } },
    { tools: { pay: { not: { claims: { groups: { contains: 'guest' } } } } } },
  ])('%j', (document) => {
    expect(allows({ tools: { '*': {} }, ...document }, claims)).toBe(false);
  });

  test('and conditions on other claims do', () => {
    expect(allows({ claims: { tenant: 'acme' }, tools: { '*': {} } }, { ...claims, tenant: 'acme' })).toBe(true);
    const excluded: PolicyDocument = { not: { claims: { tenant: 'other' } }, tools: { '*': {} } };
    expect(allows(excluded, claims)).toBe(true);
  });
});

test.for<PolicyDocument>([{ acr: 'phr' }, { not: { acr: 'pwd' } }, { max_age: '5m' }, { not: { max_age: '5m' } }])(
  'a sign-in that the token leaves to another source does not count: %j',
  (document) => {
    expect(allows({ tools: { '*': {} }, ...document }, { ...elsewhere, acr: 'phr' })).toBe(false);
  },
);

test.for([{}, { hasgroups: false }, { _claim_names: {} }, { _claim_names: null }, { _claim_names: { roles: 's' } }])(
  'without such a claim an absent group is absent: %j',
  (claims) => {
    expect(allows({ not: { claims: { groups: { contains: 'guest' } } }, tools: { '*': {} } }, claims)).toBe(true);
  },
);

test('the refusal says why', () => {
  const policy = compilePolicy('p', { claims: { groups: { contains: 'staff' } } });
  const decision = policy.decide(caller({ claims: elsewhere }), call('pay'));
  expect(denialIn(decision)?.detail).toContain('found a claim that the token leaves to another source');
});
