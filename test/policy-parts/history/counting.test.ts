import { historyKey } from '../../../src/policy-parts/history/key.ts';
import { describe, expect, test } from 'vitest';
import { parseToRewrite } from '../../../src/core/lib/json/lossless.ts';
import type { CallHistory } from '../../../src/policy-parts/history/call-history.ts';
import { type Attempt, unknownArguments } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { EntryDocument, PolicyDocument } from '../../../src/core/policy/document.ts';
import { alice, call, message } from '../../core/policy/caller.ts';
import { historyOf } from './history-of.ts';

const claims = {
  tools: {
    approve: {},
    disburse: {
      after: { tool: 'approve', within: '1h', same: ['/claim_id'] },
      quota: [
        { count: 20, per: '1h' },
        { sum: '/amount', at_most: 5000, per: '1d', by: 'tenant' },
      ],
    },
    read_secret: {},
    'export_*': {},
    'send_*': { never_after: { tool: ['read_secret', 'export_*'], within: '1d' }, quota: [{ count: 2, per: '1m' }] },
  },
} as const satisfies PolicyDocument;

/** The tracks that a call is recorded in. */
function recordedIn(document: PolicyDocument, attempt: Attempt, principal?: Principal): readonly string[] {
  return historyOf(document, attempt, principal)?.records.map(({ track }) => track) ?? [];
}

/** The tracks that a call looks at. */
function looksAt(document: PolicyDocument, attempt: Attempt, principal?: Principal): readonly (string | undefined)[] {
  return historyOf(document, attempt, principal)?.checks.map(({ track }) => track) ?? [];
}

test('a policy without rules over time has no history, and a call that none concerns has none', () => {
  for (const document of [{}, { tools: { approve: {} } }]) {
    expect(historyKey.inPolicy(compilePolicy('test', document))).toBeUndefined();
    expect(historyOf(document, call('approve'))).toBeUndefined();
  }
  const other = { tools: { ...claims.tools, other: {} } };
  expect(historyKey.inPolicy(compilePolicy('test', other))).toBeDefined();
  expect(historyOf(other, call('other'))).toBeUndefined();
  expect(historyOf(other, message('tools/list'))).toBeUndefined();
  expect(historyOf(other, { kind: 'http' })).toBeUndefined();
});

test('a call has the checks of its entry, in the order never_after, after, quota', () => {
  const { checks = [], unknown } = historyOf(claims, call('disburse', { claim_id: 7, amount: 10.5 })) ?? {};
  const check = (kind: string, rule: string, numbers: object, reason: string, detail: string) => ({
    kind,
    rule,
    amount: 0,
    limit: 0,
    decimals: 0,
    ...numbers,
    denial: { reason, rule, detail, scope: [] },
    track: expect.any(String) as string,
  });
  expect(checks).toEqual([
    check(
      'after',
      'tools.disburse.after',
      { windowMs: 3_600_000 },
      'history.missing',
      'wanted an answered call of approve within 1h with the same /claim_id, found none',
    ),
    check(
      'quota',
      'tools.disburse.quota[0]',
      { windowMs: 3_600_000, amount: 1, limit: 20 },
      'quota.exceeded',
      'wanted at most 20 calls per 1h, found more with this call',
    ),
    check(
      'quota',
      'tools.disburse.quota[1]',
      { windowMs: 86_400_000, amount: 10_500_000, limit: 5_000_000_000, decimals: 6 },
      'quota.exceeded',
      'wanted a sum of /amount of at most 5000 per 1d by tenant, found more with this call',
    ),
  ]);
  expect(unknown).toEqual([]);
  const sends = historyOf(claims, call('send_email'))?.checks;
  expect(sends?.map(({ kind, rule, denial: { detail } }) => [kind, rule, detail])).toEqual([
    ['never_after', 'tools.send_*.never_after', 'wanted no call of read_secret, export_* within 1d, found one'],
    ['quota', 'tools.send_*.quota[0]', 'wanted at most 2 calls per 1m, found more with this call'],
  ]);
});

test('a call is recorded for its own quotas and for the rules that look back at it', () => {
  const disbursed = historyOf(claims, call('disburse', { claim_id: 7, amount: 10 }));
  expect(disbursed?.records).toEqual(
    disbursed?.checks
      .filter(({ kind }) => kind === 'quota')
      .map(({ track, amount, windowMs }) => ({ track, amount, keepMs: windowMs })),
  );
  const [after] = looksAt(claims, call('disburse', { claim_id: 7, amount: 1 }));
  expect(historyOf(claims, call('approve', { claim_id: 7 }))).toEqual({
    checks: [],
    records: [{ track: after, amount: 0, keepMs: 3_600_000 }],
    unknown: [],
    isShadow: false,
  });
  const [neverAfter] = looksAt(claims, call('send_email'));
  expect(recordedIn(claims, call('read_secret'))).toEqual([neverAfter]);
  expect(recordedIn(claims, call('export_all'))).toEqual([neverAfter]);
});

test('rules that look at the same calls share a track, in which a call is recorded once', () => {
  const after = { tool: ['a', 'b'], within: '1h' };
  const document = { tools: { a: {}, b: {}, c: { after }, d: { after: { ...after, tool: ['b', 'a'] } } } };
  expect(recordedIn(document, call('a'))).toEqual(looksAt(document, call('c')));
  expect(looksAt(document, call('d'))).toEqual(looksAt(document, call('c')));
});

test.each<[string, EntryDocument, EntryDocument]>([
  ['kind', { after: { tool: 'a', within: '1h' } }, { never_after: { tool: 'a', within: '1h' } }],
  ['tools', { after: { tool: 'a', within: '1h' } }, { after: { tool: 'b', within: '1h' } }],
  ['time', { after: { tool: 'a', within: '1h' } }, { after: { tool: 'a', within: '2h' } }],
  ['owner', { after: { tool: 'a', within: '1h' } }, { after: { tool: 'a', within: '1h', by: 'client' } }],
  ['time of a quota', { quota: [{ count: 1, per: '1h' }] }, { quota: [{ count: 1, per: '2h' }] }],
  ['owner of a quota', { quota: [{ count: 1, per: '1h' }] }, { quota: [{ count: 1, per: '1h', by: 'client' }] }],
  ['argument', { quota: [{ sum: '/a', at_most: 1, per: '1h' }] }, { quota: [{ sum: '/b', at_most: 1, per: '1h' }] }],
  [
    'unit',
    { quota: [{ sum: '/a', at_most: 5, per: '1h' }] },
    { quota: [{ sum: '/a', at_most: 5, per: '1h', integer: true }] },
  ],
])('rules that differ in the %s have tracks of their own', (_, one, other) => {
  const attempt = call('c', { a: 1, b: 1 });
  const track = (entry: EntryDocument): unknown => looksAt({ tools: { a: {}, b: {}, c: entry } }, attempt)[0];
  expect(track(one)).toBeTypeOf('string');
  expect(track(one)).not.toBe(track(other));
});

test('a quota keeps its track when its limit changes, its spelling of the default or its place in the list', () => {
  const track = (...quota: NonNullable<EntryDocument['quota']>): unknown =>
    looksAt({ tools: { c: { quota } } }, call('c')).at(-1);
  expect(track({ count: 1, per: '1h' })).toBe(track({ count: 5, per: '60m', by: 'subject' }));
  expect(track({ count: 1, per: '1h' })).toBe(track({ count: 9, per: '1d' }, { count: 1, per: '1h' }));
});

test('the calls of all tools under one pattern share its quota, and those of another entry do not', () => {
  const quota = [{ count: 2, per: '1m' }];
  const document = { tools: { 'send_*': { quota }, 'get_*': { quota } } };
  expect(recordedIn(document, call('send_a'))).toEqual(recordedIn(document, call('send_b')));
  expect(recordedIn(document, call('send_a'))).not.toEqual(recordedIn(document, call('get_a')));
});

test('a quota of a method counts every call of it, beside the quota of its tool', () => {
  const document: PolicyDocument = {
    tools: { '*': {}, pay: { quota: [{ count: 2, per: '1m' }] } },
    methods: { 'tools/call': { quota: [{ count: 9, per: '1m' }] }, ping: { quota: [{ count: 1, per: '1s' }] } },
  };
  expect(historyOf(document, call('pay'))?.checks.map(({ rule }) => rule)).toEqual([
    'tools.pay.quota[0]',
    'methods.tools/call.quota[0]',
  ]);
  expect(historyOf(document, call('other'))?.checks).toHaveLength(1);
  expect(historyOf(document, message('ping'))?.records).toHaveLength(1);
});

test('a subscription to two resources of one entry counts once, and a completion does not use what it completes', () => {
  const document: PolicyDocument = {
    resources: { 'a://*': { quota: [{ count: 1, per: '1m' }] } },
    prompts: { p: { quota: [{ count: 1, per: '1m' }] } },
    methods: { 'completion/complete': { quota: [{ count: 7, per: '1m' }] } },
  };
  const listens = message('subscriptions/listen', 'resource a://1', 'resource a://2');
  expect(historyOf(document, listens)?.checks).toHaveLength(1);
  expect(historyOf(document, message('prompts/get', 'prompt p'))?.checks).toHaveLength(1);
  expect(historyOf(document, message('completion/complete', 'prompt p'))?.checks.map(({ limit }) => limit)).toEqual([
    7,
  ]);
  const completes = message('completion/complete', 'prompt p');
  expect(compilePolicy('test', document).decide(alice, completes).allow).toBe(true);
});

test('a name without * covers only itself', () => {
  const document = { tools: { '*': {}, a: {}, c: { after: { tool: 'a', within: '1h' } } } };
  expect(['a', 'aa', 'aaa'].map((tool) => recordedIn(document, call(tool)).length)).toEqual([1, 0, 0]);
});

test('only calls of tools are looked back at', () => {
  const document: PolicyDocument = {
    tools: { x: {}, c: { never_after: { tool: 'x', within: '1h' } } },
    prompts: { x: {} },
  };
  expect(historyOf(document, message('prompts/get', 'prompt x'))).toBeUndefined();
});

test('what forbids a later call covers names that servers may read as its own; what permits one does not', () => {
  const document: PolicyDocument = {
    tools: {
      '*': {},
      c: { never_after: { tool: ['Read_secret', 'ex*'], within: '1h' } },
      d: { after: { tool: 'Read_secret', within: '1h' } },
    },
  };
  const names = ['Read_secret', 'read_SECRET', 'EXport', 'read_secre', 'ﬁ'];
  expect(names.map((name) => recordedIn(document, call(name)).length)).toEqual([2, 1, 1, 0, 0]);
  const upper: PolicyDocument = { tools: { '*': {}, C: { never_after: { tool: 'A\u200B', within: '1h' } } } };
  expect(recordedIn(upper, call('A\u200B'))).toHaveLength(1);
  expect(recordedIn(upper, call('a'))).toHaveLength(1);
});

describe('same', () => {
  const document: PolicyDocument = {
    tools: { approve: {}, pay: { after: { tool: 'approve', within: '1h', same: ['/id', '/to/name'] } } },
  };
  const track = (id: unknown, name: unknown = 'bob', text?: string): string | undefined => {
    const args = { id, to: { name } };
    const exact = (): unknown => ({
      id: (JSON as never as { rawJSON(of: string): object }).rawJSON(text ?? ''),
      to: { name },
    });
    const made = historyOf(document, call('pay', args), alice, text === undefined ? undefined : exact)?.checks[0];
    expect(made?.kind).toBe('after');
    return made?.track;
  };

  test('is the same for the same values, and for no others', () => {
    expect(track(7)).toBe(track(7));
    const values: unknown[] = [7, '7', 8, true, 'true', '', 0.5, 'a'];
    expect(new Set(values.map((each) => track(each))).size).toBe(values.length);
    expect(track('a', 'b')).not.toBe(track('ab', ''));
    expect(track('a', 'b')).not.toBe(track('b', 'a'));
  });

  test('compares integers beyond 2^53 as they are written, in both calls', () => {
    const one = 9_007_199_254_740_992;
    const two = Number('9007199254740993');
    expect(one).toBe(two);
    expect(track(one, 'bob', '9007199254740992')).not.toBe(track(two, 'bob', '9007199254740993'));
    expect(track(-one, 'bob', '-9007199254740992')).not.toBe(track(-two, 'bob', '-9007199254740993'));
    expect(track(two, 'bob', '9007199254740993')).toBe(track(two, 'bob', '9007199254740993'));
    expect(track(Infinity, 'bob', '1e400')).not.toBe(track(Infinity, 'bob', '1e401'));
  });

  test('holds for no call that lacks the argument, nor for one where it is null', () => {
    expect(track(undefined)).toBeUndefined();
    expect(track(null)).toBeUndefined();
    expect(recordedIn(document, call('approve', { id: 7 }))).toEqual([]);
    expect(recordedIn(document, call('approve'))).toEqual([]);
    expect(historyOf(document, call('approve'))).toEqual({ checks: [], records: [], unknown: [], isShadow: false });
    expect(historyOf(document, call('pay'))?.checks).toMatchObject([{ kind: 'after', track: undefined }]);
  });

  const forbids: PolicyDocument = {
    tools: { read: {}, send: { never_after: { tool: 'read', within: '1h', same: ['/id', '/to/name'] } } },
  };
  /** Whether an earlier call with some arguments forbids one with others. */
  const isForbidden = (earlier: unknown, later: unknown): boolean => {
    const [track, ...others] = recordedIn(forbids, call('read', earlier));
    expect([track, ...others]).toEqual([expect.any(String)]);
    return looksAt(forbids, call('send', later)).includes(track);
  };
  const to = { name: 'bob' };
  const checkedFor = (policy: PolicyDocument, tool: string, id: string): CallHistory | undefined => {
    const text = `{"id":${id},"to":{"name":"bob"}}`;
    return historyOf(policy, call(tool, JSON.parse(text)), alice, () => parseToRewrite(text));
  };

  test.each([
    [7, 7, true],
    [7, '7', true],
    ['7', 7, true],
    [7, '7.0', true],
    ['007', 7, true],
    [0, '-0.0', true],
    [true, 'true', true],
    ['A', 'A', true],
    [7, 8, false],
    ['A', 'a', false],
    [true, 1, false],
    [7, ' 7', true],
    ['', ' ', false],
    [0, ' ', false],
  ])('never_after compares %j with %j by text: %j', (earlier, later, isSame) => {
    expect(isForbidden({ id: earlier, to }, { id: later, to })).toBe(isSame);
  });

  test.each([
    ['9007199254740993', '9.007199254740993e15'],
    ['7', '70e-1'],
    ['"A"', String.raw`"\u0041"`],
  ])('never_after takes %s and %s for one value in two notations', (earlier, later) => {
    const [record] = checkedFor(forbids, 'read', earlier)?.records ?? [];
    const looked = (id: string): readonly unknown[] =>
      checkedFor(forbids, 'send', id)?.checks.map(({ track }) => track) ?? [];
    expect(looked(later)).toContain(record?.track);
    expect(looked('9007199254740995')).not.toContain(record?.track);
  });

  test.each([
    ['9007199254740992', '9007199254740993'],
    ['9007199254740992', '"9007199254740993"'],
    ['"9007199254740993"', '9007199254740992'],
    ['7', '7.00000000000000000001'],
    ['1e400', '1e401'],
  ])('never_after takes %s and %s for one value: they are to a server that reads doubles', (earlier, later) => {
    const recorded = checkedFor(forbids, 'read', earlier)?.records.map(({ track }) => track) ?? [];
    expect(recorded).toHaveLength(1);
    expect(checkedFor(forbids, 'send', later)?.checks.map(({ track }) => track)).toContain(recorded[0]);
  });

  test.each([
    ['7', '7.00000000000000000001'],
    ['0', '1e-400'],
  ])('after takes %s and %s for two values', (earlier, later) => {
    const recorded = checkedFor(document, 'approve', earlier)?.records.map(({ track }) => track) ?? [];
    expect(recorded).toHaveLength(1);
    expect(checkedFor(document, 'pay', later)?.checks.map(({ track }) => track)).not.toContain(recorded[0]);
  });

  test.each<unknown>([
    { to },
    { id: null, to },
    { id: [7], to },
    { id: { $eq: 7 }, to },
    { id: 7, to: '{"name":"eve"}' },
    { to: 'bob' },
    { ID: 7, to },
    undefined,
  ])('an earlier call with %j, which cannot be compared, forbids every later one and permits none', (earlier) => {
    for (const later of [{ id: 7, to }, { id: '', to: { name: '' } }, { to }, {}]) {
      expect(isForbidden(earlier, later)).toBe(true);
    }
    expect(recordedIn(document, call('approve', earlier))).toEqual([]);
    for (const [policy, tool] of [
      [forbids, 'read'],
      [document, 'approve'],
    ] as const) {
      expect(compilePolicy('test', policy).decide(alice, call(tool, earlier)).allow).toBe(true);
    }
  });

  test('so does an earlier call with a member beside its arguments, from which a server might read other values', () => {
    const beside = (tool: string): Attempt => ({ ...call(tool, { id: 7, to }), otherMember: 'params.secureArguments' });
    const [track] = recordedIn(forbids, beside('read'));
    expect(looksAt(forbids, call('send', { id: 8, to }))).toContain(track);
    expect(recordedIn(document, beside('approve'))).toEqual([]);
    const anyValues: PolicyDocument = { tools: { approve: {}, pay: { after: { tool: 'approve', within: '1h' } } } };
    expect(recordedIn(anyValues, beside('approve'))).toEqual(looksAt(anyValues, call('pay')));
  });

  test('a later call without the value is forbidden only by a call that cannot be compared', () => {
    expect(isForbidden({ id: 7, to }, { to })).toBe(false);
    const without: PolicyDocument = { tools: { read: {}, send: { never_after: { tool: 'read', within: '1h' } } } };
    expect(looksAt(without, call('send'))).toEqual(recordedIn(without, call('read', { id: [] })));
  });

  test('compares rounded integers where their text is unknown', () => {
    expect(track(2 ** 60)).toBeTypeOf('string');
    expect(track(2 ** 60)).not.toBe(track(2 ** 61));
  });
});

test('rules that depend on arguments that were not recorded are named as unknown', () => {
  const history = historyOf(claims, call('disburse', unknownArguments));
  expect(history?.unknown).toEqual(['tools.disburse.after', 'tools.disburse.quota[1]']);
  expect(history?.checks.map(({ rule }) => rule)).toEqual(['tools.disburse.quota[0]']);
  expect(historyOf(claims, call('approve', unknownArguments))).toEqual({
    checks: [],
    records: [],
    unknown: ['tools.disburse.after'],
    isShadow: false,
  });
  expect(historyOf(claims, call('read_secret', unknownArguments))?.records).toHaveLength(1);
  expect(compilePolicy('test', claims).decide(alice, call('disburse', unknownArguments)).allow).toBe(true);
});

test('a policy names its rules over time, and the claims by which it counts', () => {
  const policy = compilePolicy('test', claims);
  expect(policy.rules).toEqual(
    expect.arrayContaining([
      'tools.disburse.after',
      'tools.disburse.quota[0]',
      'tools.disburse.quota[1]',
      'tools.send_*.never_after',
    ]),
  );
  expect(policy.claimsRead({ tenant: 'acme', other: 1 })).toEqual({ tenant: 'acme' });
});
