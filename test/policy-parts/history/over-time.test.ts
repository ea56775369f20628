// oxlint-disable unicorn/no-thenable -- a property has it
import { historyKey } from '../../../src/policy-parts/history/key.ts';
import { historyPart } from '../../../src/policy-parts/history/part.ts';
import { describe, expect, test } from 'vitest';
import { explain } from '../../../src/analysis/review/explanation.ts';
import { type Attempt, unknownArguments } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { EntryDocument, PolicyDocument } from '../../../src/core/policy/document.ts';
import { alice, call, caller, decide, faultsOf, message, plain, told } from '../../core/policy/caller.ts';
import { historyOf } from './history-of.ts';
import { proofOf } from '../../analysis/prove/deciding.ts';

describe('the policy refuses what a rule over time cannot count', () => {
  const sum = (more: object = {}): EntryDocument => ({ quota: [{ sum: '/a', at_most: 5, per: '1h', ...more }] });
  test.each<[EntryDocument, unknown, string]>([
    [sum(), {}, 'argument /a: wanted a number from 0 to 5, found nothing'],
    [sum(), { a: '4' }, 'argument /a: wanted a number from 0 to 5, found another string'],
    [sum(), { a: 5.000_001 }, 'argument /a: wanted a number from 0 to 5, found more'],
    [sum({ integer: true }), { a: '6' }, 'argument /a: wanted an integer from 0 to 5, found more'],
    [
      { after: { tool: 'p', within: '1h', same: ['/a'] } },
      { a: { b: 1 } },
      'argument /a: wanted a string, a number or a boolean, found an object',
    ],
    [
      { never_after: { tool: 'p', within: '1h', same: ['/a/b'] } },
      { a: '{"b":1}' },
      'argument /a/b: wanted a string, a number or a boolean, found a value on the way to it that is not an object',
    ],
  ])('%j with %j: %s', (entry, args, detail) => {
    const tools = { p: {}, c: entry };
    const decision = decide({ tools }, {}, call('c', args));
    expect(decision).toMatchObject({ allow: false, denial: { reason: 'argument.denied', detail, scope: [] } });
    expect(decision.rule).toMatch(/^tools\.c\.(?:after|never_after|quota\[0\])$/);
  });

  test('an argument that another case hides, as elsewhere in policies', () => {
    const tools = { c: { quota: [{ sum: '/amount', at_most: 5, per: '1h' }] } };
    expect(told(decide({ tools }, {}, call('c', { Amount: 1 })))).toBe('deny policy.error policy');
  });

  test.each<[EntryDocument, isRefused: boolean]>([
    [{ after: { tool: 'p', within: '1h' } }, false],
    [{ never_after: { tool: 'p', within: '1h' } }, false],
    [{ after: { tool: 'p', within: '1h', same: ['/a'] } }, true],
    [{ never_after: { tool: 'p', within: '1h', same: ['/a'] } }, true],
    [{ quota: [{ count: 1, per: '1h' }] }, true],
    [{ after: { tool: 'p', within: '1h' }, quota: [{ sum: '/a', at_most: 5, per: '1h' }] }, true],
  ])('of %j a member beside the arguments: %s', (entry, isRefused) => {
    const tools = { p: {}, c: entry };
    const attempt = { ...call('c', { a: 1 }), otherMember: 'params.secureArguments' };
    const refused = { allow: false, denial: { reason: 'argument.denied', rule: 'tools.c' } };
    expect(decide({ tools }, {}, attempt)).toMatchObject(isRefused ? refused : { allow: true });
  });

  test.each<[string, Partial<Principal>, string]>([
    ['actor', { clientId: undefined }, 'wanted an actor or a client, by which calls are counted, found none'],
    ['subject', { subject: undefined }, 'wanted a subject, by which calls are counted, found none'],
    ['client', { clientId: undefined }, 'wanted a client, by which calls are counted, found none'],
    [
      'tenant',
      { claims: { tenant: ['acme'] } },
      'wanted claim tenant as a string, an integer or a boolean, by which calls are counted, found an array of 1',
    ],
  ])('a caller without a %s', (by, lacking, detail) => {
    const policy = compilePolicy('test', { because: 'words', tools: { c: { quota: [{ count: 1, per: '1h', by }] } } });
    expect(plain(policy.decide({ ...alice, ...lacking }, call('c')))).toEqual({
      allow: false,
      rule: 'tools.c.quota[0]',
      denial: { reason: 'claim.denied', rule: 'tools.c.quota[0]', detail, scope: [], because: 'words' },
    });
  });

  test('a call without an owner that a rule looks back at, because it would be missing in the history', () => {
    const tools: PolicyDocument['tools'] = {
      read: {},
      c: { because: 'own', never_after: { tool: 'read', within: '1h', same: ['/id'], by: 'tenant' } },
    };
    expect(decide({ tools }, {}, call('read', { id: [7] }))).toMatchObject({
      rule: 'tools.c.never_after',
      denial: { reason: 'claim.denied', because: 'own' },
    });
  });

  test.each([
    ['that the rule covers', call('read'), 'deny claim.denied tools.c.never_after'],
    ['of another tool', call('other'), 'allow tools.other'],
    ['of no tool', message('prompts/get', 'prompt p'), 'allow prompts.p'],
  ])('a call without an owner: one %s', (_what, attempt, decision) => {
    const document: PolicyDocument = {
      tools: { read: {}, other: {}, c: { never_after: { tool: 'read', within: '1h', by: 'tenant' } } },
      prompts: { p: {} },
    };
    expect(told(decide(document, {}, attempt))).toBe(decision);
    expect(historyOf({ ...document, mode: 'shadow' }, attempt, caller())?.records ?? []).toEqual([]);
  });

  test('a value that cannot be compared, also after one that is absent', () => {
    const tools = { p: {}, c: { never_after: { tool: 'p', within: '1h', same: ['/a', '/b'] } } };
    expect(told(decide({ tools }, {}, call('c', { b: [] })))).toBe('deny argument.denied tools.c.never_after');
  });

  test('before scopes, so that no challenge asks for a token that would be refused', () => {
    const tools = { c: { scope: 'pay', quota: [{ sum: '/a', at_most: 5, per: '1h' }] } };
    expect(told(decide({ tools }, {}, call('c', { a: 6 })))).toBe('deny argument.denied tools.c.quota[0]');
    expect(told(decide({ tools }, {}, call('c', { a: 5 })))).toBe('deny scope.insufficient tools.c.scope [pay]');
    expect(told(decide({ tools }, { scope: 'pay' }, call('c', { a: 5 })))).toBe('allow tools.c');
  });
});

test('in shadow mode a call that a rule cannot count is left out', () => {
  const document: PolicyDocument = {
    mode: 'shadow',
    tools: {
      p: {},
      c: {
        after: { tool: 'p', within: '1h', same: ['/id'] },
        quota: [
          { count: 1, per: '1h', by: 'tenant' },
          { sum: '/amount', at_most: 1, per: '1h' },
        ],
      },
    },
  };
  expect(historyOf(document, call('c', { id: {}, Amount: 1 }), caller())).toEqual({
    checks: [],
    records: [],
    unknown: [],
    isShadow: true,
  });
  expect(historyOf(document, call('p', { ID: 7 }))?.records).toEqual([]);
  expect(historyOf(document, call('unlisted'))).toBeUndefined();
});

describe('an explanation', () => {
  const document: PolicyDocument = {
    tools: {
      p: {},
      c: { after: { tool: 'p', within: '1h', same: ['/id', '/to'] } },
      d: { quota: [{ sum: '/amount', at_most: 5, per: '1h' }] },
      e: { never_after: { tool: ['e', 'p'], within: '1h', by: 'tenant' } },
      f: { quota: [{ count: 5, per: '1h' }] },
    },
  };
  const policy = compilePolicy('test', document);
  /** Without that of the entry, which comes first. */
  const explained = (attempt: Attempt, principal: Principal = alice): unknown =>
    explain(policy.decide(principal, attempt).plan, principal, attempt).slice(1);
  const [rule, wanted] = ['tools.c.after', 'an answered call of p within 1h with the same /id, /to'];
  const lacking = 'wanted claim tenant as a string, an integer or a boolean, by which calls are counted, found nothing';

  test.each([
    ['what depends on earlier calls', call('c', { id: 7, to: 'a' }), 'unknown', 'unknown'],
    ['what depends on arguments that were not recorded', call('c', unknownArguments), 'unknown', 'unknown'],
    ['a value that no earlier call can have', call('c', {}), 'fails', 'no value that could be the same'],
    [
      'a value that cannot be compared',
      call('c', { id: [] }),
      'fails',
      'argument /id: wanted a string, a number or a boolean, found an array',
    ],
    ['an argument in another case', call('c', { ID: 7 }), 'error', 'an argument that cannot be read'],
  ])('shows %s', (_what, attempt, outcome, found) => {
    expect(explained(attempt)).toEqual([{ kind: 'history', rule, wanted, outcome, found, parts: [] }]);
  });

  test('shows a rule that looks back at the call only if the call has no owner, and once', () => {
    const fails = {
      kind: 'history',
      rule: 'tools.e.never_after',
      wanted: 'no call of e, p within 1h by tenant',
      outcome: 'fails',
      found: lacking,
      parts: [],
    };
    expect(explained(call('p'))).toEqual([]);
    expect(explained(call('p'), caller())).toEqual([fails]);
    expect(explained(call('e'), caller())).toEqual([fails]);
  });

  test('has the arguments that the rules of the call and those that look back at it read', () => {
    const read = (attempt: Attempt): unknown => policy.decide(alice, attempt).plan.argumentsRead(attempt);
    const same = [['id'], ['to']];
    expect(['p', 'c', 'd', 'e', 'f'].map((tool) => read(call(tool)))).toEqual([same, same, [['amount']], [], []]);
  });
});

test('a rule that looks back at calls of its own entry is judged once', () => {
  const tools: PolicyDocument['tools'] = { p: {}, c: { never_after: { tool: ['c', 'p'], within: '1h' } } };
  const rulesOf = (tool: string): unknown => {
    const { own = [], owners = [] } = historyKey.inPlan(decide({ tools }, {}, call(tool)).plan) ?? {};
    return [own, owners].map((rules) => rules.map(({ rule }) => rule));
  };
  expect(rulesOf('c')).toEqual([['tools.c.never_after'], []]);
  expect(rulesOf('p')).toEqual([[], ['tools.c.never_after']]);
});

test('an entry without rules over time has no part', () => {
  const context = { key: 'tools', name: 'p', path: ['tools', 'p'], because: undefined };
  expect(historyPart.compile({}, { ...context, faults: [] })).toBeUndefined();
});

test('a check has the words of its entry, or else of the policy, or else none', () => {
  const quota = [{ count: 1, per: '1h' }];
  const tools = { a: { quota }, b: { quota, because: 'own' } };
  const denialOf = (tool: string, document: PolicyDocument): unknown =>
    historyOf(document, call(tool))?.checks[0]?.denial;
  expect(denialOf('a', { tools })).not.toHaveProperty('because');
  expect(denialOf('a', { because: 'policy', tools })).toHaveProperty('because', 'policy');
  expect(denialOf('b', { because: 'policy', tools })).toHaveProperty('because', 'own');
});

describe('faults', () => {
  const malformed = '"/a~" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"';
  const either = 'tools.c.quota[0]: needs either count, or sum with at_most';
  const inexact = 'cannot be summed exactly; write an integer below 4.5 * 10^15';
  test.each<[EntryDocument, string]>([
    [{ quota: [{ per: '1h' }] }, either],
    [{ quota: [{ count: 1, sum: '/a', at_most: 1, per: '1h' }] }, either],
    [{ quota: [{ sum: '/a', per: '1h' }] }, 'tools.c.quota[0]: sum needs at_most'],
    [{ quota: [{ count: 1, at_most: 1, per: '1h' }] }, 'tools.c.quota[0]: at_most needs sum'],
    [{ quota: [{ count: 1, integer: true, per: '1h' }] }, 'tools.c.quota[0].integer: needs sum'],
    [{ quota: [{ sum: '/a', at_most: 1.5, integer: true, per: '1h' }] }, `tools.c.quota[0].at_most: 1.5 ${inexact}`],
    [
      { quota: [{ sum: '/a', at_most: 0.000_000_1, per: '1h' }] },
      'tools.c.quota[0].at_most: 1e-7 cannot be summed exactly; write a number below 4.5 * 10^15 with at most 6 decimal places',
    ],
    [{ quota: [{ count: 4_500_000_000_000_000, per: '1h' }] }, `tools.c.quota[0].count: 4500000000000000 ${inexact}`],
    [{ quota: [{ sum: '/a~', at_most: 1, per: '1h' }] }, `tools.c.quota[0].sum: ${malformed}`],
    [{ after: { tool: 'c', within: '1h', same: ['/ok', '/a~'] } }, `tools.c.after.same[1]: ${malformed}`],
    [{ after: { tool: 'c', within: '1h', by: '/a~' } }, `tools.c.after.by: ${malformed}`],
    [{ quota: [{ count: 1, per: '1h', by: '/a~' }] }, `tools.c.quota[0].by: ${malformed}`],
    [
      {
        quota: [
          { count: 1, per: '1h' },
          { count: 2, per: '2h' },
          { count: 3, per: '60m' },
        ],
      },
      'tools.c.quota[2]: counts the same as quota[0]',
    ],
    [
      { after: { tool: ['c', 'aprove'], within: '1h' } },
      'tools.c.after.tool: looks back at "aprove", which tools does not list; list it there',
    ],
    [
      { never_after: { tool: 'aprove', within: '1h' } },
      'tools.c.never_after.tool: looks back at "aprove", which tools does not list; list it there',
    ],
  ])('%j: %s', (entry, fault) => {
    expect(faultsOf({ tools: { c: entry } })).toEqual([fault]);
  });

  test('a pattern may match no listed tool, and a listed pattern covers a name', () => {
    const tools = { 'get_*': {}, c: { after: { tool: ['x_*', 'get_a'], within: '1h' } } };
    expect(faultsOf({ tools })).toEqual([]);
  });

  test('entries without arguments can compare and sum none', () => {
    const entry = { never_after: { tool: 'c', within: '1h', same: ['/a'] } };
    const quota = [{ sum: '/a', at_most: 1, per: '1h' }];
    expect(
      faultsOf({ tools: { c: {} }, resources: { 'a:b': entry }, methods: { x: { quota } }, prompts: { p: entry } }),
    ).toEqual([
      'resources.a:b.never_after.same[0]: resources have no arguments; only tools and prompts do',
      'methods.x.quota[0].sum: methods have no arguments; only tools and prompts do',
    ]);
  });

  test('without tools there is nothing to look back at, not even by a pattern', () => {
    const document: PolicyDocument = { prompts: { p: { after: { tool: '*', within: '1h' } } } };
    expect(faultsOf(document)).toEqual([
      'prompts.p.after.tool: looks back at "*", which tools does not list; list it there',
    ]);
  });
});

describe('rules over time on requests', () => {
  const policyOf = (pay: object): PolicyDocument => ({
    requests: { 'GET /a/*': {}, 'GET /a/secret': {}, 'POST /pay': pay },
  });

  // `never_after` also looks at another spelling.
  test.each<readonly ['after' | 'never_after', names: string[], Attempt, count: number]>([
    ['after', ['GET /a/*'], { kind: 'http', request: 'GET /a/1' }, 1],
    ['after', ['GET /a/*'], { kind: 'http', request: 'HEAD /a/1' }, 1],
    ['after', ['GET /a/*'], { kind: 'http', request: 'POST /a/1' }, 0],
    ['after', ['GET /a/*'], { kind: 'http', request: 'GET /a' }, 0],
    ['after', ['GET /a/secret'], { kind: 'http', request: 'GET /a/1' }, 0],
    ['after', ['GET /a/secret', 'GET /a/*'], { kind: 'http', request: 'GET /a/1' }, 1],
    ['after', ['GET /a/secret'], { kind: 'http', request: 'GET /a/Secret/' }, 0],
    ['after', ['GET /a/secret'], { kind: 'http' }, 0],
    ['after', ['GET /a/secret'], message('x'), 0],
    ['never_after', ['GET /a/secret'], { kind: 'http', request: 'GET /a/secret' }, 1],
    ['never_after', ['GET /a/secret'], { kind: 'http', request: 'GET /a/Secret/' }, 1],
  ])('%s %j looks back at %j: %d', (kind, names, attempt, count) => {
    const { plan } = decide(policyOf({ [kind]: { request: names, within: '1h' } }), {}, attempt);
    expect(historyKey.inPlan(plan)?.of(caller(), attempt)?.records.length ?? 0).toBe(count);
  });

  test.each([
    [{ request: 'GET /b' }, ['.request: looks back at "GET /b", which requests does not list; list it there']],
    [
      { request: 'get /a' },
      [
        '.request: "get /a" is not a method in capitals or *, one space, and a path that begins with /, such as GET /orders',
        '.request: looks back at "get /a", which requests does not list; list it there',
      ],
    ],
    [{ request: 'GET /a/1', tool: 'x' }, [': needs either tool or request']],
    [{}, [': needs either tool or request']],
    [{ tool: 'x' }, ['.tool: looks back at "x", which tools does not list; list it there']],
    [{ request: 'GET /a/1', same: ['/id'] }, ['.same[0]: requests have no arguments; only tools and prompts do']],
  ])('%j is an error: %j', (after, faults) => {
    const expected = faults.map((fault) => `requests["POST /pay"].after${fault}`);
    expect(faultsOf(policyOf({ after: { within: '1h', ...after } }))).toEqual(expected);
  });

  test('a proof gives the earlier request that an example needs', () => {
    const policy: PolicyDocument = {
      requests: { 'GET /a/*': {}, 'POST /pay': { after: { request: 'GET /a/*', within: '1h' } } },
    };
    const proof = proofOf(policy, { for_all: {}, when: { request: 'POST /pay' }, then: 'deny' });
    expect(proof).toMatchObject({
      outcome: 'fails',
      counterexample: { given: { history: [{ request: 'GET /a/x', ago: '0s' }] }, when: { request: 'POST /pay' } },
    });
    expect(proofOf(policy, { for_all: {}, when: { request: { matches: '^DELETE ' } }, then: 'deny' })).toMatchObject({
      outcome: 'holds',
    });
  });

  test('a hundred entries are proved within the bounds', () => {
    const entries = Array.from({ length: 100 }, (_, index) => [`GET /r${index}/*`, { scope: 's' }] as const);
    const policy: PolicyDocument = { requests: Object.fromEntries(entries) };
    expect(proofOf(policy, { for_all: { not: { scope: 's' } }, when: { request: 'any' }, then: 'deny' }).outcome).toBe(
      'holds',
    );
  });
});
