import { describe, expect, test } from 'vitest';
import type { Attempt, McpTarget } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { maxMatchedLength } from '../../src/policy/predicate.ts';
import { type Given, call, caller, decide, message, plain, target, told } from './caller.ts';

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
  // All scopes of the operation, in policy order, once: the client asks for exactly what the challenge names.
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

  test('R-87: allows a denied call, and records the denial', () => {
    const decision = enforced.decide(caller(), call('pay'));
    if (decision.allow) throw new TypeError('it should be denied');
    expect(plain(policy.decide(caller(), call('pay')))).toEqual({
      allow: true,
      rule: 'scope',
      shadow: decision.denial,
    });
  });

  test('records no denial for an allowed call', () => {
    expect(plain(policy.decide(caller({ scope: 'read' }), call('get_x')))).toEqual({
      allow: true,
      rule: 'tools.get_*',
    });
  });
});

describe('decisions', () => {
  test('an allowed call gets one frozen object', () => {
    const policy = compilePolicy('test', demo);
    for (const attempt of [http, call('get_price')]) {
      const decision = policy.decide(caller({ scope: 'read' }), attempt);
      expect(policy.decide(caller({ scope: 'read other' }), attempt)).toBe(decision);
      expect(Object.isFrozen(decision)).toBe(true);
    }
  });

  test('equal denials are equal to the byte', () => {
    const policy = compilePolicy('test', demo);
    const answer = (): string => JSON.stringify(plain(policy.decide(caller(trader), call('transfer_funds'))));
    expect(answer()).toBe(answer());
  });

  test('a challenge does not depend on other granted scopes', () => {
    const scopes = ['', 'read', 'payments', 'other read'].map((scope) => {
      const decision = decide(demo, { scope, ...trader }, call('transfer_funds'));
      return decision.allow ? undefined : decision.denial.scope;
    });
    expect(scopes).toEqual(scopes.map(() => ['read', 'payments']));
  });
});

describe('couldCall', () => {
  const trader = { claims: { role: 'trader' } };

  const policy: PolicyDocument = {
    scope: 'read',
    max_lifetime: '1m',
    not: { claims: { banned: true } },
    tools: {
      pay: { scope: 'payments', max_lifetime: '1s', arguments: { '/amount': { at_most: 0 } } },
      trade: { claims: { role: 'trader' } },
      either: { any: [{ claims: { role: 'trader' } }, { scope: 'x' }] },
      neither: { any: [{ claims: { role: 'trader' } }, { claims: { role: 'boss' } }] },
    },
    resources: { 'p://*': {}, 'p://gold': { claims: { role: 'trader' } } },
    prompts: { 'sum_*': {} },
  };

  test.each<[Given, string, boolean]>([
    [{ scope: 'read payments', lifetime: 1 }, 'tool pay', true],
    // What another token could bring, and what only the call can tell.
    [{}, 'tool pay', true],
    [{ lifetime: null }, 'tool pay', true],
    [{}, 'tool either', true],
    // What none could.
    [{}, 'tool trade', false],
    [trader, 'tool trade', true],
    [{}, 'tool neither', false],
    [trader, 'tool neither', true],
    [{ claims: { banned: true } }, 'tool pay', false],
    [{}, 'tool other', false],
    [{}, 'tool sum_up', false],
    [{}, 'prompt sum_up', true],
    [{}, 'prompt other', false],
    [{}, 'resource p://iron', true],
    [{}, 'resource p://gold', false],
    [trader, 'resource p://gold', true],
    [{}, 'resource p://a/b', false],
    [{}, 'resource p://..', false],
    [{}, 'template p://{x}', true],
    [{}, 'template p://{+x}', false],
  ])('%j, %s: %s', (given, text, expected) => {
    expect(compilePolicy('test', policy).couldCall(caller(given), target(text))).toBe(expected);
  });

  test.each<[PolicyDocument, Given, string, boolean]>([
    [{}, {}, 'tool t', true],
    [{ scope: 'read' }, {}, 'tool t', true],
    [{ claims: { role: 'trader' } }, {}, 'tool t', false],
    [{ claims: { role: 'trader' } }, trader, 'resource a:/../b', true],
    [{ tools: {} }, {}, 'resource a:b', false],
    [{ methods: {} }, {}, 'tool t', false],
    // What `methods` asks comes on top.
    [{ tools: { t: {} }, methods: { 'tools/*': { claims: { role: 'trader' } } } }, {}, 'tool t', false],
    [{ tools: { t: {} }, methods: { 'tools/*': { claims: { role: 'trader' } } } }, trader, 'tool t', true],
    [{ tools: { t: {} }, methods: { 'tools/*': { scope: 'x' } } }, {}, 'tool t', true],
    [{ resources: { 'a:*': {} }, methods: { 'resources/read': { not: {} } } }, {}, 'resource a:b', false],
    [{ resources: { 'a:*': {} }, methods: { 'resources/read': { not: {} } } }, {}, 'template a:{b}', false],
    [{ prompts: { p: {} }, methods: { 'prompts/get': { not: {} } } }, {}, 'prompt p', false],
    [{ prompts: { p: {} }, methods: { 'tools/call': { not: {} } }, tools: {} }, {}, 'prompt p', true],
    // A list hides what a call would be refused for: its name reads as another entry's.
    [{ tools: { 'get_*': {}, get_secret: { scope: 'x' } } }, {}, 'tool get_SECRET', false],
    [{ tools: { 'get_*': {}, get_secret: { scope: 'x' } } }, {}, 'tool get_Price', true],
    // In the shadow everything can be called.
    [{ ...policy, mode: 'shadow' }, {}, 'tool other', true],
  ])('%j, %j, %s: %s', (document, given, text, expected) => {
    expect(compilePolicy('test', document).couldCall(caller(given), target(text))).toBe(expected);
  });

  test('a target whose conditions cannot be evaluated cannot be called', () => {
    const policy = compilePolicy('test', { tools: { t: { not: { claims: { name: { matches: 'x' } } } } } });
    expect(policy.couldCall(caller({ claims: { name: 'y' } }), target('tool t'))).toBe(true);
    expect(policy.couldCall(caller({ claims: { name: 'y'.repeat(maxMatchedLength + 1) } }), target('tool t'))).toBe(
      false,
    );
  });

  describe('lists', () => {
    test.each<[PolicyDocument, string]>([
      [{}, 'show'],
      [{ scope: 'read' }, 'show'],
      [{ methods: {} }, 'show'],
      [{ tools: {} }, 'filter'],
      [{ resources: {} }, 'filter'],
      [{ prompts: {} }, 'filter'],
      [{ tools: {}, lists: 'show' }, 'show'],
      [{ lists: 'filter' }, 'filter'],
      [{ methods: {}, lists: 'filter' }, 'filter'],
      [{ tools: {}, mode: 'shadow' }, 'show'],
      [{ tools: {}, mode: 'shadow', lists: 'filter' }, 'show'],
    ])('%j: %s', (document, expected) => {
      expect(compilePolicy('test', document).lists).toBe(expected);
    });
  });

  test.for<[target: McpTarget, words: string | undefined]>([
    [{ kind: 'tool', name: 'pay' }, 'of pay'],
    [{ kind: 'tool', name: 'get_x' }, 'of the policy'],
    [{ kind: 'tool', name: 'other' }, 'of the policy'],
    [{ kind: 'prompt', name: 'pay' }, 'of the policy'],
  ])('because finds the words of an entry, or else of the policy: %j', ([target, words]) => {
    const tools = { pay: { because: 'of pay' }, 'get_*': {} };
    expect(compilePolicy('test', { because: 'of the policy', tools }).because(target)).toBe(words);
    expect(compilePolicy('test', {}).because(target)).toBeUndefined();
  });

  test('toolEntry finds only tools', () => {
    const compiled = compilePolicy('test', policy);
    expect(compiled.toolEntry('pay')).toBe('pay');
    expect(compiled.toolEntry('sum_up')).toBeUndefined();
    expect(compilePolicy('test', { prompts: {} }).toolEntry('pay')).toBeUndefined();
  });
});

describe('neededScopes', () => {
  const demo: PolicyDocument = {
    scope: 'read',
    tools: { 'get_*': {}, pay: { scope: 'payments read' } },
    methods: { 'completion/complete': { scope: 'complete' } },
  };
  const either: PolicyDocument = {
    scope: 'read',
    any: [{ scope: 'admin' }, { claims: { role: 'trader' }, scope: 'trade' }],
  };

  /** What an allowed call needed: what a stage that comes later adds its own scopes to. */
  test.each<[string, PolicyDocument, Given, Attempt, string[]]>([
    ['a route', demo, { scope: 'read' }, { kind: 'http' }, ['read']],
    ['a tool', demo, { scope: 'read payments' }, call('pay'), ['read', 'payments']],
    ['a tool by a pattern', demo, { scope: 'read' }, call('get_price'), ['read']],
    ['a method', demo, { scope: 'read complete' }, message('completion/complete'), ['read', 'complete']],
    ['housekeeping', demo, { scope: 'read' }, message('initialize'), ['read']],
    ['an unlisted tool, in shadow mode', demo, { scope: 'read' }, call('drop'), ['read']],
    ['any call, if the policy lists nothing', { scope: 'read' }, { scope: 'read' }, call('pay'), ['read']],
    ['the alternative that holds', either, { scope: 'read admin' }, { kind: 'http' }, ['read', 'admin']],
    [
      'the other alternative that holds',
      either,
      { scope: 'read trade', claims: { role: 'trader' } },
      { kind: 'http' },
      ['read', 'trade'],
    ],
    ['no alternative that holds, in shadow mode', either, { scope: 'read' }, { kind: 'http' }, ['read', 'admin']],
    ['an empty policy', {}, {}, { kind: 'http' }, []],
    [
      'a condition that cannot be evaluated, in shadow mode',
      { scope: 'read', any: [{ claims: { x: { matches: '^(a|b)$' } } }] },
      {
        scope: 'read',
        claims: Object.defineProperty({}, 'x', {
          enumerable: true,
          get: () => {
            throw new Error('x');
          },
        }),
      },
      { kind: 'http' },
      [],
    ],
  ])('%s', (_, document, given, attempt, expected) => {
    const { plan } = compilePolicy('test', document).decide(caller(given), attempt);
    expect(plan.neededScopes(caller(given))).toEqual(expected);
  });
});
