import { describe, expect, test } from 'vitest';
import type { Attempt, McpTarget } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { maxMatchedLength } from '../../../src/core/policy/predicate.ts';
import { type Given, call, caller, message, plain, target } from './caller.ts';
import { decides } from './decides.ts';

const http: Attempt = { kind: 'http' };

const demo: PolicyDocument = {
  scope: 'read',
  tools: {
    'get_*': {},
    transfer_funds: { scope: 'payments', claims: { role: 'trader' }, max_lifetime: '60s' },
    pay: { scope: 'payments read' },
    quick: { max_lifetime: '60s' },
  },
};

// All scopes of the operation, in policy order, once: the client asks for exactly what the challenge names.
// What no scope mends has no challenge. A method that acts on one thing acts on one of its kind.
decides(
  'own conditions and those of a tool',
  demo,
  `
read | call get_price → allow tools.get_*
read payments {"role":"trader"} for 60s | call transfer_funds → allow tools.transfer_funds
read {"role":"trader"} | call transfer_funds → deny scope.insufficient tools.transfer_funds.scope [read payments]
payments {"role":"trader"} | call transfer_funds → deny scope.insufficient scope [read payments]
{"role":"trader"} | call transfer_funds → deny scope.insufficient scope [read payments]
call pay → deny scope.insufficient scope [read payments]
call get_price → deny scope.insufficient scope [read]
read | call transfer_funds → deny claim.denied tools.transfer_funds.claims.role
call transfer_funds → deny claim.denied tools.transfer_funds.claims.role
read payments {"role":"trader"} | call transfer_funds → deny lifetime.exceeded tools.transfer_funds.max_lifetime
call quick → deny scope.insufficient scope [read]
read | call drop_tables / constructor / Transfer_funds → deny tool.unlisted tools
call drop_tables → deny tool.unlisted tools
read | call → deny tool.unlisted tools
read | read prices://gold → deny resource.unlisted resources
read prices://gold → deny resource.unlisted resources
read | get get_price → deny prompt.unlisted prompts
read | completion/complete prompt get_price → deny method.unlisted methods
read | tasks/list → deny method.unlisted methods
tasks/list → deny method.unlisted methods
read | resources/read → deny resource.unlisted resources
read | resources/read tool get_price → deny resource.unlisted resources
read | x/y tool get_price → deny method.unlisted methods
read | initialize → allow policy
read | notifications/initialized → allow policy
read | response → allow policy
tools/list → deny scope.insufficient scope [read]
response → deny scope.insufficient scope [read]
read | http → allow policy
http → deny scope.insufficient scope [read]`,
);

decides(
  'without lists every call that the own conditions allow',
  { scope: 'read' },
  `
read | call anything → allow policy
read | resources/read → allow policy
call anything → deny scope.insufficient scope [read]`,
);

decides(
  'with an empty list no call of its kind',
  { tools: {} },
  `
call anything → deny tool.unlisted tools
ping → allow policy
http → allow policy`,
);

decides(
  'own refusals come before tools are looked at',
  { claims: { tenant: 'acme' }, tools: {} },
  `
call anything → deny claim.denied claims.tenant
read a:b → deny claim.denied claims.tenant`,
);

decides(
  'one new token brings a shorter lifetime and the scope of a tool',
  { max_lifetime: '1m', tools: { pay: { scope: 'payments' }, get: {} } },
  `
call anything → deny tool.unlisted tools
call pay → deny scope.insufficient tools.pay.scope [payments]
call get → deny lifetime.exceeded max_lifetime`,
);

decides(
  'an entry holds conditions like any policy',
  {
    scope: 'a',
    any: [{ scope: 'b' }],
    tools: { t: { any: [{ scope: 'c' }] }, u: { not: { scope: 'a' } }, 'user.get': { scope: 'd' } },
  },
  `
call t → deny scope.insufficient scope [a b c]
a b | call u → deny exclusion.matched tools.u.not
a b | call user.get → deny scope.insufficient tools["user.get"].scope [a b d]
a b d | call user.get → allow tools["user.get"]`,
);

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
    expect(plain(policy.decide(caller({ scope: 'read' }), call('get_x')))).toStrictEqual({
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

  test.each([
    ['one resource', 1, true],
    ['two', 2, true],
    // A call may name any number of resources.
    ['three', 3, false],
  ])('the plan of a call of %s, of %d entries, is kept: %s', (_, count, isKept) => {
    const names = ['a:1', 'a:2', 'a:3'].slice(0, count);
    const policy = compilePolicy('test', { resources: { 'a:1': {}, 'a:2': {}, 'a:3': {} } });
    const planOf = () =>
      policy.decide(caller(), message('subscriptions/listen', ...names.map((uri) => `resource ${uri}`))).plan;
    expect(planOf() === planOf()).toBe(isKept);
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
