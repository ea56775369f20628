import { describe, expect, test } from 'vitest';
import { createAuthorize, createRequestReader } from '../../../../src/core/gateway/authorize/authorize.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { Denial } from '../../../../src/core/model/denial.ts';
import type { Action } from '../../../../src/core/model/grant.ts';
import type { Decision, Policy } from '../../../../src/core/model/policy.ts';
import type { Principal } from '../../../../src/core/model/principal.ts';
import type { Route } from '../../../../src/core/model/route.ts';

const alice = { subject: 'alice' } as Principal;
const action = { attempt: { kind: 'http' }, messageId: null, body: undefined } as Action;

function route(decision?: Decision, open = false): Route {
  const policy = decision && ({ decide: () => decision } as unknown as Policy);
  return { name: 'r', public: open, policy } as Route;
}

const refusal = {
  allow: false,
  rule: 'tools.pay.scope',
  denial: {
    reason: 'scope.insufficient',
    detail: 'wanted read',
    scope: ['read', 'pay'],
    rule: 'tools.pay.scope',
    because: 'Ask for less.',
  },
} as const satisfies Decision;

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
    const authorize = createAuthorize(route(refusal), Date.now);
    expect(() => authorize(alice, action)).toThrow(expect.objectContaining(refusal.denial) as Denial);
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

test.each([
  ['without a policy', undefined, undefined],
  ['with a policy that lists no requests', false, undefined],
  ['with one that lists requests', true, 'POST /mcp'],
])('on an HTTP route the header section is read alone, and not the body: %s', (_what, listsRequests, named) => {
  const policy = listsRequests === undefined ? undefined : ({ listsRequests } as Policy);
  const attempt = { kind: 'http', request: named };
  const call = { method: 'POST', path: '/mcp', query: '', fields: { contentType: 'text/plain' } } as Call;
  expect(createRequestReader({ policy })(call)).toEqual({
    messageId: null,
    mayYieldHandle: false,
    asksByUrl: false,
    attempt,
  });
});
