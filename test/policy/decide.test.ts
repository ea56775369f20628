import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { type Given, call, caller, decide, message, told } from './caller.ts';

const http: Attempt = { kind: 'http' };
const trader = { claims: { role: 'trader' } };

const demo: PolicyDocument = {
  scope: 'read',
  tools: {
    'get_*': {},
    transfer_funds: { scope: 'payments', claims: { role: 'trader' }, max_lifetime: '60s' },
    pay: { scope: 'payments read' },
    quick: { max_lifetime: '60s' },
  },
};

test.each<[Given, Attempt, string]>([
  [{ scope: 'read' }, call('get_price'), 'allow tools.get_*'],
  [{ scope: 'read payments', ...trader, lifetime: 60 }, call('transfer_funds'), 'allow tools.transfer_funds'],
  // All scopes of the operation, in policy order, once: the client asks for exactly what it is told.
  [
    { scope: 'read', ...trader },
    call('transfer_funds'),
    'deny scope.insufficient tools.transfer_funds.scope [read payments]',
  ],
  [{ scope: 'payments', ...trader }, call('transfer_funds'), 'deny scope.insufficient scope [read payments]'],
  [trader, call('transfer_funds'), 'deny scope.insufficient scope [read payments]'],
  [{}, call('pay'), 'deny scope.insufficient scope [read payments]'],
  [{}, call('get_price'), 'deny scope.insufficient scope [read]'],
  // What no scope mends has no challenge.
  [{ scope: 'read' }, call('transfer_funds'), 'deny claim.denied tools.transfer_funds.claims.role'],
  [{}, call('transfer_funds'), 'deny claim.denied tools.transfer_funds.claims.role'],
  [
    { scope: 'read payments', ...trader },
    call('transfer_funds'),
    'deny lifetime.exceeded tools.transfer_funds.max_lifetime',
  ],
  [{}, call('quick'), 'deny scope.insufficient scope [read]'],
  [{ scope: 'read' }, call('drop_tables'), 'deny tool.unlisted tools'],
  [{}, call('drop_tables'), 'deny tool.unlisted tools'],
  [{ scope: 'read' }, call(undefined), 'deny tool.unlisted tools'],
  [{ scope: 'read' }, call('constructor'), 'deny tool.unlisted tools'],
  [{ scope: 'read' }, call('Transfer_funds'), 'deny tool.unlisted tools'],
  // Of other kinds nothing is listed.
  [{ scope: 'read' }, message('resources/read', 'resource prices://gold'), 'deny resource.unlisted resources'],
  [{}, message('resources/read', 'resource prices://gold'), 'deny resource.unlisted resources'],
  [{ scope: 'read' }, message('prompts/get', 'prompt get_price'), 'deny prompt.unlisted prompts'],
  [{ scope: 'read' }, message('completion/complete', 'prompt get_price'), 'deny method.unlisted methods'],
  [{ scope: 'read' }, message('tasks/list'), 'deny method.unlisted methods'],
  [{}, message('tasks/list'), 'deny method.unlisted methods'],
  // A method that acts on one thing acts on one of its kind.
  [{ scope: 'read' }, message('resources/read'), 'deny resource.unlisted resources'],
  [{ scope: 'read' }, message('resources/read', 'tool get_price'), 'deny resource.unlisted resources'],
  [{ scope: 'read' }, message('x/y', 'tool get_price'), 'deny method.unlisted methods'],
  // Housekeeping, by the route's own conditions.
  [{ scope: 'read' }, message('initialize'), 'allow policy'],
  [{ scope: 'read' }, message('notifications/initialized'), 'allow policy'],
  [{ scope: 'read' }, message(undefined), 'allow policy'],
  [{}, message('tools/list'), 'deny scope.insufficient scope [read]'],
  [{}, message(undefined), 'deny scope.insufficient scope [read]'],
  // Plain HTTP knows no tools.
  [{ scope: 'read' }, http, 'allow policy'],
  [{}, http, 'deny scope.insufficient scope [read]'],
])('%j, %j: %s', (given, attempt, expected) => {
  expect(told(decide(demo, given, attempt))).toBe(expected);
});

test.each<[PolicyDocument, Given, Attempt, string]>([
  // Without `tools` every call that the own conditions allow.
  [{ scope: 'read' }, { scope: 'read' }, call('anything'), 'allow policy'],
  [{ scope: 'read' }, { scope: 'read' }, message('resources/read'), 'allow policy'],
  [{ scope: 'read' }, {}, call('anything'), 'deny scope.insufficient scope [read]'],
  // With an empty `tools` none.
  [{ tools: {} }, {}, call('anything'), 'deny tool.unlisted tools'],
  [{ tools: {} }, {}, message('ping'), 'allow policy'],
  [{ tools: {} }, {}, http, 'allow policy'],
  // Own refusals come before tools are looked at.
  [{ claims: { tenant: 'acme' }, tools: {} }, {}, call('anything'), 'deny claim.denied claims.tenant'],
  [
    { claims: { tenant: 'acme' }, tools: {} },
    {},
    message('resources/read', 'resource a:b'),
    'deny claim.denied claims.tenant',
  ],
  [{ max_lifetime: '1m', tools: {} }, {}, call('anything'), 'deny tool.unlisted tools'],
  // The top level's lifetime and the tool's scope: one new token brings both.
  [
    { max_lifetime: '1m', tools: { pay: { scope: 'payments' } } },
    {},
    call('pay'),
    'deny scope.insufficient tools.pay.scope [payments]',
  ],
  [{ max_lifetime: '1m', tools: { pay: {} } }, {}, call('pay'), 'deny lifetime.exceeded max_lifetime'],
  // A tool holds policies like any other.
  [
    { scope: 'a', any: [{ scope: 'b' }], tools: { t: { any: [{ scope: 'c' }] } } },
    {},
    call('t'),
    'deny scope.insufficient scope [a b c]',
  ],
  [{ tools: { t: { not: { scope: 'a' } } } }, { scope: 'a' }, call('t'), 'deny exclusion.matched tools.t.not'],
  [
    { tools: { 'user.get': { scope: 'a' } } },
    {},
    call('user.get'),
    'deny scope.insufficient tools["user.get"].scope [a]',
  ],
])('%j, %j, %j: %s', (document, given, attempt, expected) => {
  expect(told(decide(document, given, attempt))).toBe(expected);
});

describe('mode: shadow', () => {
  const policy = compilePolicy('test', { ...demo, mode: 'shadow' });
  const enforced = compilePolicy('test', { ...demo, mode: 'enforce' });

  test('lets a denial pass, and carries it', () => {
    const decision = enforced.decide(caller(), call('pay'));
    if (decision.allow) throw new TypeError('it should be denied');
    expect(policy.decide(caller(), call('pay'))).toEqual({ allow: true, rule: 'scope', shadow: decision.denial });
  });

  test('an allowed call carries none', () => {
    expect(policy.decide(caller({ scope: 'read' }), call('get_x'))).toEqual({ allow: true, rule: 'tools.get_*' });
  });
});

describe('answers', () => {
  test('to allowed calls are made once, and frozen', () => {
    const policy = compilePolicy('test', demo);
    for (const attempt of [http, call('get_price')]) {
      const decision = policy.decide(caller({ scope: 'read' }), attempt);
      expect(policy.decide(caller({ scope: 'read other' }), attempt)).toBe(decision);
      expect(Object.isFrozen(decision)).toBe(true);
    }
  });

  test('to equal denials are equal to the byte', () => {
    const policy = compilePolicy('test', demo);
    const answer = (): string => JSON.stringify(policy.decide(caller(trader), call('transfer_funds')));
    expect(answer()).toBe(answer());
  });

  test('do not depend on what else the caller was granted', () => {
    const scopes = ['', 'read', 'payments', 'other read'].map((scope) => {
      const decision = decide(demo, { scope, ...trader }, call('transfer_funds'));
      return decision.allow ? undefined : decision.denial.scope;
    });
    expect(scopes).toEqual(scopes.map(() => ['read', 'payments']));
  });
});
