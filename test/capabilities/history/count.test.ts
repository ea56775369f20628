import { beforeEach, describe, expect, test } from 'vitest';
import { reasons } from '../../../src/capabilities/history/reasons.ts';
import { type Count, createCount, createJudge } from '../../../src/capabilities/history/count.ts';
import { createMemoryLedger } from '../../../src/policy-parts/history/memory-ledger.ts';
import type { Call } from '../../../src/core/model/call.ts';
import type { CallOutcome, CountedCall, Settlement } from '../../../src/core/model/history.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Action, Grant, TaskOrigin } from '../../../src/core/model/grant.ts';
import type { Ledger, Reservation, LedgerVerdict } from '../../../src/policy-parts/history/ledger.ts';
import type { Attempt } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { bytesAfterSmallCollections } from '../../support/small-collections.ts';
import { call as callOf, caller, message } from '../../core/policy/caller.ts';

const document: PolicyDocument = {
  because: 'words',
  tools: {
    other: {},
    approve: {},
    pay: {
      after: { tool: 'approve', within: '1h', same: ['/id'] },
      quota: [{ sum: '/amount', at_most: 5, per: '10s' }],
    },
    mail: { never_after: { tool: 'approve', within: '1m' } },
  },
};

const request = { id: 'request' } as Call;
let now = 0;
let returned: unknown[];
beforeEach(() => {
  now = 0;
  returned = [];
});

function routeOf(policy: PolicyDocument = document, name = 'tools'): Route {
  return { name, public: false, policy: compilePolicy('p', policy) } as Route;
}

function counting(ledger: Ledger = createMemoryLedger(() => now), route = routeOf()) {
  const onReturned = (...given: unknown[]): void => void returned.push(given);
  const count = createCount(route, { ledger, onReturned });
  return (attempt: Attempt, action: Partial<Action> = {}, principal: Principal | undefined = caller()) =>
    count?.(request, grantOf(route, attempt, action, principal)) as CountedCall | undefined;
}

/** As {@link counting}, by a ledger that answers later. */
function countingLater(...given: Parameters<typeof counting>) {
  const count = counting(...given);
  return async (attempt: Attempt, action: Partial<Action> = {}): Promise<CountedCall | undefined> =>
    count(attempt, action);
}

/** As {@link counting}, for a call that is judged alone. */
async function judge(ledger: Ledger, attempt: Attempt, action: Partial<Action> = {}, route = routeOf()): Promise<void> {
  await createJudge(route, ledger)?.(grantOf(route, attempt, action, caller()));
}

function grantOf(route: Route, attempt: Attempt, action: Partial<Action>, principal?: Principal): Grant {
  const args = attempt.kind === 'mcp' ? attempt.arguments : undefined;
  const body = Buffer.from(JSON.stringify({ params: { arguments: args } }));
  const plan = route.policy?.decide(principal ?? caller(), attempt).plan;
  const decision = { allow: true, rule: 'tools.entry', plan };
  return { principal, action: { attempt, body, ...action }, decision } as unknown as Grant;
}

/** A ledger that answers as the test says, and what it was asked. */
function fakeLedger(verdict: LedgerVerdict | Promise<LedgerVerdict> | (() => never)) {
  const reserved: Reservation[] = [];
  const settled: [string, Settlement][] = [];
  let acknowledge = (): void => {};
  const ledger: Ledger = {
    reserve(reservation) {
      reserved.push(reservation);
      return typeof verdict === 'function' ? verdict() : verdict;
    },
    settle(id, outcome) {
      settled.push([id, outcome]);
      return verdict instanceof Promise ? new Promise<void>((resolve) => (acknowledge = resolve)) : undefined;
    },
  };
  return { ledger, reserved, settled, acknowledge: () => acknowledge() };
}

const passed: LedgerVerdict = { passed: true, failed: undefined };
const failedAt = (check: number, retryAfterMs = 0): LedgerVerdict['failed'] => ({ why: 'check', check, retryAfterMs });

test.each<[string, Route]>([
  ['rules over time', routeOf({ tools: { a: {} } })],
  ['a policy', { name: 'http' } as Route],
])('a route without %s neither counts nor judges by them', (_what, route) => {
  const { ledger } = fakeLedger(passed);
  expect(createCount(route, { ledger, onReturned: () => {} })).toBeUndefined();
  expect(createJudge(route, ledger)).toBeUndefined();
});

test('a call that no rule concerns is neither counted nor judged', async () => {
  const { ledger, reserved } = fakeLedger(passed);
  expect(counting(ledger)(callOf('other'))).toBeUndefined();
  expect(counting(ledger)({ kind: 'http' })).toBeUndefined();
  await judge(ledger, callOf('other'));
  const { plan } = compilePolicy('plain', { tools: { pay: {} } }).decide(caller(), callOf('pay'));
  const grant = {
    ...grantOf(routeOf(), callOf('pay'), {}, caller()),
    decision: { allow: true as const, rule: '', plan },
  };
  expect(createCount(routeOf(), { ledger, onReturned: () => {} })?.(request, grant)).toBeUndefined();
  expect(reserved).toEqual([]);
});

test.each<[string, Partial<Grant>]>([
  ['principal', { principal: undefined }],
  ['plan', { decision: { allow: true, rule: '', plan: undefined } }],
])('a call without a %s is a bug', async (_part, missing) => {
  const { ledger } = fakeLedger(passed);
  const grant = { ...grantOf(routeOf(), callOf('pay'), {}, caller()), ...missing };
  const count = createCount(routeOf(), { ledger, onReturned: () => {} });
  expect(() => count?.(request, grant)).toThrow('no principal or no plan');
  await expect(createJudge(routeOf(), ledger)?.(grant)).rejects.toThrow('no principal or no plan');
});

test('the ledger gets digests, for the checks and the entries alike, and never a subject or a value', () => {
  const { ledger, reserved } = fakeLedger(passed);
  const count = counting(ledger);
  const alice = { ...caller(), callerKey: 'alice' };
  count(callOf('approve', { id: 'secret' }), { continues: 'before' }, alice);
  const counted = count(callOf('pay', { id: 'secret', amount: 2 }), {}, alice);
  const digest = expect.stringMatching(/^[\w-]{43}$/) as string;
  const [approved, paid] = reserved;
  expect(paid).toEqual({
    id: expect.stringMatching(/^[\da-f]{32}$/) as string,
    route: 'tools',
    owner: digest,
    checks: [
      { kind: 'after', track: approved?.entries[0]?.track, amount: 0, limit: 0 },
      { kind: 'quota', track: digest, amount: 2_000_000, limit: 5_000_000 },
    ],
    entries: [{ track: paid?.checks[1]?.track, amount: 2_000_000, keepMs: 10_000 }],
    isShadow: false,
    continues: undefined,
  });
  expect(approved?.entries).toEqual([
    { track: digest, amount: 0, keepMs: 3_600_000 },
    { track: digest, amount: 0, keepMs: 60_000 },
  ]);
  expect(approved).toMatchObject({ continues: 'before', owner: paid?.owner, checks: [] });
  expect(counted?.id).toBe(paid?.id);
  expect(paid?.id).not.toBe(approved?.id);
  expect(JSON.stringify(reserved)).not.toMatch(/alice|secret/);
});

test('history belongs to a route and to a caller', () => {
  const { ledger, reserved } = fakeLedger(passed);
  const attempt = callOf('approve', { id: 1 });
  counting(ledger)(attempt);
  counting(ledger, routeOf(document, 'other'))(attempt);
  counting(ledger)(attempt, {}, { ...caller(), subject: 'bob', callerKey: 'bob' });
  counting(ledger)(attempt, {}, { ...caller(), callerKey: undefined, issuer: 'https://other.example' });
  expect(new Set(reserved.map(({ entries }) => entries[0]?.track)).size).toBe(4);
  expect(new Set(reserved.map(({ owner }) => owner)).size).toBe(3);
});

test('an argument that is absent matches no earlier call', () => {
  const { ledger, reserved } = fakeLedger(passed);
  counting(ledger)(callOf('pay', { amount: 1 }));
  expect(reserved[0]?.checks[0]).toEqual({ kind: 'after', track: 'none', amount: 0, limit: 0 });
});

test('integers that JavaScript rounds are compared as the body has them', () => {
  const { ledger, reserved } = fakeLedger(passed);
  const id = 2 ** 53;
  const body = (text: string): Buffer => Buffer.from(`{"params":{"arguments":{"id":${text}}}}`);
  counting(ledger)(callOf('approve', { id }), { body: body('9007199254740992') });
  counting(ledger)(callOf('approve', { id }), { body: body('9007199254740993') });
  expect(reserved[0]?.entries[0]).not.toEqual(reserved[1]?.entries[0]);
  expect(reserved[0]?.entries[1]).toEqual(reserved[1]?.entries[1]);
});

test('a call that is judged alone meets the same checks, and leaves nothing', async () => {
  const { ledger, reserved } = fakeLedger(passed);
  const attempt = callOf('pay', { id: 2 ** 53, amount: 1 });
  const action = { body: Buffer.from('{"params":{"arguments":{"id":9007199254740993,"amount":1}}}') };
  counting(ledger)(attempt, action);
  await judge(ledger, attempt, action);
  const [counted, judged] = reserved;
  expect(judged).toEqual({ ...counted, id: expect.stringMatching(/^[\da-f]{32}$/) as string, entries: [] });
});

test('the id of a request in a session belongs to the caller of the request', async () => {
  const { ledger, reserved } = fakeLedger(passed);
  const route = { ...routeOf(), policy: { ...routeOf().policy, distinguishesCallers: true } } as Route;
  await countingLater(ledger, route)(callOf('approve', { id: 1 }), { sessionId: 'session', messageId: 1 });
  expect(reserved).toHaveLength(2);
  expect(reserved[0]?.owner).toBe(reserved[1]?.owner);
});

describe('refuses', () => {
  test.each<[Attempt, LedgerVerdict['failed'], object]>([
    [
      callOf('pay', { id: 1, amount: 1 }),
      failedAt(0, 5000),
      {
        reason: 'history.missing',
        detail: 'wanted an answered call of approve within 1h with the same /id, found none',
        rule: 'tools.pay.after',
        retryAfterSeconds: undefined,
      },
    ],
    [
      callOf('pay', { id: 1, amount: 1 }),
      failedAt(1, 5001),
      {
        reason: 'quota.exceeded',
        detail: 'wanted a sum of /amount of at most 5 per 10s, found more with this call',
        rule: 'tools.pay.quota[0]',
        retryAfterSeconds: 6,
      },
    ],
    [callOf('pay', { id: 1, amount: 5 }), failedAt(1, 5001), { reason: 'quota.exceeded', retryAfterSeconds: 6 }],
    [
      callOf('mail'),
      failedAt(0, 5000),
      {
        reason: 'history.forbidden',
        detail: 'wanted no call of approve within 1m, found one',
        rule: 'tools.mail.never_after',
        retryAfterSeconds: undefined,
      },
    ],
  ])('%o by the rule that failed', async (attempt, failed, denial) => {
    const verdict = { passed: false, failed } as LedgerVerdict;
    expect(() => counting(fakeLedger(verdict).ledger)(attempt)).toThrow(
      expect.objectContaining({ ...denial, because: 'words' }),
    );
    const later = fakeLedger(Promise.resolve(verdict)).ledger;
    await expect(countingLater(later)(attempt)).rejects.toThrow(expect.objectContaining(denial));
    await expect(judge(later, attempt)).rejects.toThrow(expect.objectContaining(denial));
  });

  test('inner calls that together exceed a quota without a time to wait, which would not help', () => {
    const batch = { each: '/calls', name: '/name', arguments: '/args' };
    const pay = { quota: [{ sum: '/amount', at_most: 5, per: '10s' }] };
    const count = counting(undefined, routeOf({ tools: { run: { inner: batch }, pay } }));
    const paying = (...amounts: readonly number[]): Attempt =>
      callOf('run', { calls: amounts.map((amount) => ({ name: 'pay', args: { amount } })) });
    const refusal = (retryAfterSeconds: number | undefined) =>
      expect.objectContaining({ reason: 'quota.exceeded', retryAfterSeconds }) as Error;
    count(paying(1));
    expect(() => count(paying(3, 2))).toThrow(refusal(10));
    expect(() => count(paying(3, 3))).toThrow(refusal(undefined));
  });

  test('a call for which the ledger has no room', () => {
    const { ledger } = fakeLedger({ passed: false, failed: { why: 'full', detail: '9 entries are kept' } });
    expect(() => counting(ledger)(callOf('approve', { id: 1 }))).toThrow(
      new Denial(reasons['history.full'], '9 entries are kept'),
    );
  });

  test('with a time to wait that is right to the second', () => {
    const count = counting();
    count(callOf('approve', { id: 1 }))?.settle('answered');
    count(callOf('pay', { id: 1, amount: 3 }));
    now = 4000.5;
    count(callOf('pay', { id: 1, amount: 2 }));
    const refusal = expect.objectContaining({ reason: 'quota.exceeded', retryAfterSeconds: 6 }) as Error;
    expect(() => count(callOf('pay', { id: 1, amount: 3 }))).toThrow(refusal);
    now = 9999;
    expect(() => count(callOf('pay', { id: 1, amount: 3 }))).toThrow(Denial);
    now = 10_000.5;
    expect(count(callOf('pay', { id: 1, amount: 3 }))).toBeDefined();
  });

  test('by the ledger’s own refusal, while the store is unavailable', async () => {
    const denial = new Denial('shared_store.unavailable', 'away');
    const throws = (): never => {
      throw denial;
    };
    expect(() => counting(fakeLedger(throws).ledger)(callOf('approve', { id: 1 }))).toThrow(denial);
    const rejects = countingLater(fakeLedger(Promise.reject(denial)).ledger)(callOf('approve', { id: 1 }));
    await expect(rejects).rejects.toBe(denial);
  });
});

describe('in shadow mode', () => {
  const shadow = routeOf({ ...document, mode: 'shadow' });
  const attempt = callOf('pay', { id: 1, amount: 1 });

  test('a call passes and has the refusal for the log', () => {
    const { ledger, reserved } = fakeLedger({ passed: true, failed: failedAt(1, 1) as never });
    const counted = counting(ledger, shadow)(attempt);
    expect(counted?.shadow).toEqual({
      reason: 'quota.exceeded',
      rule: 'tools.pay.quota[0]',
      detail: 'wanted a sum of /amount of at most 5 per 10s, found more with this call',
      scope: [],
    });
    expect(reserved[0]?.isShadow).toBe(true);
    expect(counting(fakeLedger(passed).ledger, shadow)(attempt)?.shadow).toBeUndefined();
  });

  test('a call is not judged alone', async () => {
    const { ledger, reserved } = fakeLedger({ passed: true, failed: failedAt(1, 1) as never });
    await judge(ledger, attempt, {}, shadow);
    expect(reserved).toEqual([]);
  });

  test('a call passes if nothing can be counted', async () => {
    const full = fakeLedger({ passed: true, failed: { why: 'full', detail: 'full' } });
    expect(counting(full.ledger, shadow)(attempt)?.shadow).toEqual({
      reason: 'history.full',
      rule: 'tools.entry',
      detail: 'full',
      scope: [],
    });
    const denial = new Denial('shared_store.unavailable', 'away');
    const away = fakeLedger(Promise.reject(denial));
    expect((await countingLater(away.ledger, shadow)(attempt))?.shadow?.reason).toBe('shared_store.unavailable');
    const bug = fakeLedger(Promise.reject(new TypeError('bug')));
    await expect(countingLater(bug.ledger, shadow)(attempt)).rejects.toThrow('bug');
  });
});

describe('a counted call', () => {
  const refund = [request, expect.objectContaining({ name: 'tools' }), 'why'];

  test.each<[CallOutcome, settlements: readonly Settlement[], refunds: readonly unknown[]]>([
    ['answered', ['answered'], []],
    ['waiting', ['waiting'], []],
    ['returned', ['returned'], [refund]],
    ['unreached', ['returned'], [refund]],
    ['unanswered', [], []],
    ['unclear', [], []],
    ['task', [], []],
  ])('that is %s settles once, as %j', (outcome, settlements, refunds) => {
    const { ledger, settled } = fakeLedger(passed);
    const counted = counting(ledger)(callOf('approve', { id: 1 }));
    counted?.settle(outcome, 'why');
    counted?.settle('returned', 'again');
    expect(settled).toEqual(settlements.map((settlement) => [counted?.id, settlement]));
    expect(returned).toEqual(refunds);
    expect(counted?.settling).toBeUndefined();
  });

  test('gives its part back without a reason too', () => {
    counting()(callOf('approve', { id: 1 }))?.settle('returned');
    expect(returned).toEqual([refund.with(2, '')]);
  });

  test('is settling until other processes see it', async () => {
    const { ledger, acknowledge } = fakeLedger(Promise.resolve(passed));
    const counted = await countingLater(ledger)(callOf('approve', { id: 1 }));
    expect(counted?.settling).toBeUndefined();
    counted?.settle('answered');
    const settling = counted?.settling;
    expect(settling).toBeInstanceOf(Promise);
    acknowledge();
    await settling;
    expect(counted?.settling).toBeUndefined();
  });
});

describe('the result of a task', () => {
  const about = (method: string): Attempt => message(method);
  const tasks = new Map([['task', { counted: 'creator' }]]);

  test.each(['tasks/get', 'tasks/result'])('answers by %s the call that created the task', (method) => {
    const { ledger, reserved, settled } = fakeLedger(passed);
    const counted = counting(ledger)(about(method), { tasks });
    expect(counted).toMatchObject({ id: 'creator', shadow: undefined });
    counted?.settle('answered');
    expect(settled).toEqual([['creator', 'answered']]);
    expect(reserved).toEqual([]);
  });

  test.each<Settlement | 'unanswered'>(['returned', 'waiting', 'unanswered'])(
    'gives nothing back if it is %s',
    (outcome) => {
      const { ledger, settled } = fakeLedger(passed);
      counting(ledger)(about('tasks/result'), { tasks })?.settle(outcome);
      expect([settled, returned]).toEqual([[], []]);
    },
  );

  test.each<[string, Action['tasks']]>([
    ['tasks/cancel', tasks],
    ['tasks/result', undefined],
    ['tasks/result', new Map()],
    ['tasks/result', new Map([['task', {}]])],
    ['tasks/result', new Map<string, TaskOrigin>([...tasks, ['another', {}]])],
  ])('is not looked for in the answer to %s with tasks %o', (method, presented) => {
    expect(counting(fakeLedger(passed).ledger)(about(method), { tasks: presented })).toBeUndefined();
  });
});

test('leaves nothing of a settled call to full collections', () => {
  const { ledger } = fakeLedger(passed);
  const route = routeOf();
  const count = createCount(route, { ledger, onReturned: () => {} }) as Count;
  const attempt = callOf('mail');
  const bytes = bytesAfterSmallCollections(2_000, () => {
    const large = { id: 'request', large: Array.from({ length: 1_000 }, (_, at) => at) } as unknown as Call;
    (count(large, grantOf(route, attempt, {}, caller())) as CountedCall).settle('answered');
  });
  expect(bytes).toBeLessThan(4_000_000);
});
