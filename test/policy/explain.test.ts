import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unknownArguments, type Attempt, type Explanation } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { call, caller, type Given, message } from './caller.ts';

function explained(document: PolicyDocument, given: Given, attempt: Attempt = { kind: 'http' }): readonly string[] {
  return compilePolicy('p', document)
    .explain(caller(given), attempt)
    .flatMap((each) => lines(each, ''));
}

function lines({ rule, outcome, wanted, found, parts }: Explanation, indent: string): readonly string[] {
  const own = `${indent}${rule} ${outcome}: wanted ${wanted}, found ${found}`;
  return [own, ...parts.flatMap((part) => lines(part, `${indent}  `))];
}

describe('each condition, with what it wanted and what it found', () => {
  test('also after the one that decided', () => {
    const document = { scope: 'read', claims: { risk: { below: 50 }, tenant: 'acme' }, max_lifetime: '60s' };
    expect(explained(document, { scope: 'write', claims: { risk: 72, tenant: 'acme' }, lifetime: 300 })).toEqual([
      'scope fails: wanted scope "read", found "write"',
      'claims.risk fails: wanted claim risk: a number below 50, found 72',
      'claims.tenant holds: wanted claim tenant: "acme", found "acme"',
      'max_lifetime fails: wanted a lifetime (exp - iat) of at most 60 s, found 300 s',
    ]);
  });
  test('with alternatives and exclusions', () => {
    const document = { any: [{ scope: 'admin' }, { claims: { role: 'x' } }], not: { claims: { ai: true } } };
    expect(explained(document, { claims: { role: 'x', ai: true } })).toEqual([
      'any holds: wanted one of these, found 1 of 2 hold',
      '  any[0] fails: wanted all of these, found 0 of 1 hold',
      '    any[0].scope fails: wanted scope "admin", found no scope',
      '  any[1] holds: wanted all of these, found 1 of 1 hold',
      '    any[1].claims.role holds: wanted claim role: "x", found "x"',
      'not fails: wanted not all of these, found 1 of 1 hold',
      '  not holds: wanted all of these, found 1 of 1 hold',
      '    not.claims.ai holds: wanted claim ai: true, found true',
    ]);
  });
  test('of what is called; of arguments the kind alone', () => {
    const document = { tools: { pay: { scope: 'payments', arguments: { '/amount': { at_most: 10 } } } } };
    expect(explained(document, { scope: 'payments' }, call('pay', { amount: 4711 }))).toEqual([
      'tools.pay fails: wanted what is asked of it, found "pay"',
      '  tools.pay.scope holds: wanted scope "payments", found "payments"',
      '  tools.pay.arguments./amount fails: wanted argument /amount: a number of at most 10, found another number',
    ]);
    expect(explained(document, {}, call('other'))).toEqual([
      'tools fails: wanted a tool that is listed, found "other"',
    ]);
    expect(explained(document, {}, message('initialize'))).toEqual([]);
  });
  test('that cannot be evaluated is an error, also under not', () => {
    const document = { not: { claims: { name: { matches: 'x' } } } };
    const [whole] = compilePolicy('p', document).explain(caller({ claims: { name: 'y'.repeat(5000) } }), {
      kind: 'http',
    });
    expect(whole?.outcome).toBe('error');
  });
});

test('arguments that nobody recorded are left out of the decision', () => {
  const policy = compilePolicy('p', { tools: { pay: { arguments: { '/amount': { at_most: 10 } } } } });
  expect(policy.decide(caller({}), call('pay')).allow).toBe(false);
  expect(policy.decide(caller({}), call('pay', unknownArguments)).allow).toBe(true);
});

test('a call is allowed exactly when every condition holds', () => {
  const document = {
    scope: 'a',
    claims: { n: { below: 5 } },
    any: [{ scope: 'b' }, { claims: { role: 'x' } }],
    tools: { t: { scope: 'c' } },
  };
  const policy = compilePolicy('p', document);
  const scopes = fc.subarray(['a', 'b', 'c']).map((list) => list.join(' '));
  const claims = fc.record({ n: fc.integer({ min: 0, max: 9 }), role: fc.constantFrom('x', 'y') });
  fc.assert(
    fc.property(scopes, claims, fc.constantFrom('t', 'u'), (scope, found, tool) => {
      const principal = caller({ scope, claims: found });
      const { allow } = policy.decide(principal, call(tool));
      const conditions = policy.explain(principal, call(tool));
      expect(conditions.every(({ outcome }) => outcome === 'holds')).toBe(allow);
    }),
  );
});

test('the claims that are read, and no others', () => {
  const policy = compilePolicy('p', {
    claims: { tenant: 'x', '/realm/roles': { contains: 'y' } },
    tools: { t: { claims: { risk: { below: 5 } } } },
  });
  const claims = { tenant: 'a', realm: { roles: ['y'], other: 1 }, risk: 3, email: 'alice@example.com' };
  expect({ ...policy.claimsRead(claims) }).toEqual({ tenant: 'a', '/realm/roles': ['y'], risk: 3 });
});
