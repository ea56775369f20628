import { describe, expect, test } from 'vitest';
import {
  createAuthorize,
  createRequestReader,
  requireReadAlike,
} from '../../../../src/core/gateway/authorize/authorize.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { Denial } from '../../../../src/core/model/denial.ts';
import type { Action } from '../../../../src/core/model/grant.ts';
import type { Decision, Policy } from '../../../../src/core/model/policy.ts';
import type { Principal } from '../../../../src/core/model/principal.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { orReason } from '../../../support/denial.ts';
import { call } from '../../policy/caller.ts';

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

describe('an argument whose key has a variant in another case', () => {
  const args = { amount: 1, Amount: 1000, to: { iban: 'a' } };
  const reading = (...argumentsRead: readonly string[][]): Route =>
    route({ allow: true, rule: '', plan: { argumentsRead: () => argumentsRead } } as unknown as Decision);
  const decided = (given: Route, isAsked?: boolean): unknown =>
    orReason(() => {
      const asked = { ...action, attempt: call('pay', args), messageId: 7, hasArgumentVariants: true };
      return createAuthorize(given, Date.now, isAsked)(alice, asked).principal;
    });

  test.each<[what: string, given: Route, isAsked: boolean | undefined, wanted: unknown]>([
    ['the policy reads', reading(['to'], ['amount']), undefined, 'body.ambiguous'],
    ['the policy does not read', reading(['to'], ['to', 'iban']), undefined, alice],
    ['nothing reads, without a policy', route(), undefined, alice],
    ['a capability reads, without a policy', route(), true, 'body.ambiguous'],
    ['a capability reads, and the policy does not', reading(['to']), true, 'body.ambiguous'],
  ])('that %s', (_what, given, isAsked, wanted) => expect(decided(given, isAsked)).toEqual(wanted));

  test('is refused at any depth, for the message that has it', () => {
    const asked = { attempt: call('pay', { to: [{ iban: 'a', IBAN: 'b' }] }), messageId: 7, hasArgumentVariants: true };
    const refused = { reason: 'body.ambiguous', messageId: 7 };
    expect(() => requireReadAlike(asked, [['to']])).toThrow(expect.objectContaining(refused) as Denial);
  });

  test('is looked for only where the message was seen to have one', () => {
    const asked = { attempt: call('pay', args), messageId: 7 };
    expect(() => requireReadAlike(asked, [[]])).not.toThrow();
    const authorize = createAuthorize(reading(['amount']), Date.now);
    expect(authorize(alice, { ...action, attempt: call('pay', args) }).principal).toBe(alice);
  });
});
