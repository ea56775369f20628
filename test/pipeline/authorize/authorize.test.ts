import { describe, expect, test } from 'vitest';
import { createAuthorize } from '../../../src/pipeline/authorize/authorize.ts';
import { Denial } from '../../../src/model/denial.ts';
import type { Action } from '../../../src/model/grant.ts';
import type { Decision, Policy } from '../../../src/model/policy.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';

const alice = { subject: 'alice' } as Principal;
const action = { attempt: { kind: 'http' }, messageId: null, body: undefined } as Action;

function route(decision?: Decision, open = false): Route {
  const policy = decision && ({ decide: () => decision } as unknown as Policy);
  return { name: 'r', public: open, policy } as Route;
}

const refusal: Decision = {
  allow: false,
  rule: 'tools.pay.scope',
  denial: {
    reason: 'scope.insufficient',
    detail: 'wanted read',
    scope: ['read', 'pay'],
    rule: 'tools.pay.scope',
    because: 'Ask for less.',
  },
};

describe('a caller', () => {
  test('passes without a policy', () => {
    expect(createAuthorize(route(), Date.now)(alice, action)).toEqual({
      principal: alice,
      action,
      decision: { allow: true, rule: '' },
    });
  });

  test('passes with the decision of the policy', () => {
    const allowed = { allow: true, rule: 'scope' } as Decision;
    expect(createAuthorize(route(allowed), Date.now)(alice, action).decision).toBe(allowed);
  });

  test('is refused with the reason, detail, scope, rule and words of the policy', () => {
    let denial: unknown;
    try {
      createAuthorize(route(refusal), Date.now)(alice, action);
    } catch (error) {
      denial = error;
    }
    expect(denial).toBeInstanceOf(Denial);
    const { reason, detail, scope, rule, because } = denial as Denial;
    expect({ reason, detail, scope, rule, because }).toEqual({
      reason: 'scope.insufficient',
      detail: 'wanted read',
      scope: ['read', 'pay'],
      rule: 'tools.pay.scope',
      because: 'Ask for less.',
    });
  });
});

describe('no principal', () => {
  test('R-161: passes on a public route only', () => {
    expect(createAuthorize(route(undefined, true), Date.now)(undefined, action).principal).toBeUndefined();
  });

  test.each([
    ['without a policy', route()],
    ['with one', route({ allow: true, rule: '' })],
  ])('on any other route it is a bug of an earlier stage: %s', (_what, closed) => {
    expect(() => createAuthorize(closed, Date.now)(undefined, action)).toThrow(TypeError);
  });
});
