import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryLedger, type MemoryLedger } from '../../../src/policy-parts/history/memory-ledger.ts';
import { createCountUnderOwnId } from '../../../src/capabilities/history/count.ts';
import type { CallOutcome, CountedCall } from '../../../src/core/model/history.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Grant } from '../../../src/core/model/grant.ts';
import type { Ledger, Reservation, LedgerVerdict } from '../../../src/policy-parts/history/ledger.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { createManualTimers } from '../../support/manual-timers.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** V8 has it; TypeScript does not know it yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => object };

let now: number;
let ledger: MemoryLedger;
beforeEach(() => {
  now = 0;
  ledger = createMemoryLedger(() => now);
});

function routeOf(name = 'tools', distinguishesCallers = true): Route {
  return { name, policy: { distinguishesCallers } } as Route;
}

interface Options {
  readonly route?: Route;
  readonly owner?: string;
  readonly count?: () => CountedCall | undefined;
  readonly by?: Ledger;
}

/** Begins a request, in a session unless `sessionId` is null. Resolves with the counted call or the reason of its refusal. */
async function begin(
  messageId: string | number | object | null,
  sessionId: string | null = 'session',
  { route = routeOf(), owner = 'alice', count = () => undefined, by = ledger }: Options = {},
): Promise<CountedCall | string | undefined> {
  const grant = { action: { messageId, sessionId: sessionId ?? undefined } } as unknown as Grant;
  try {
    return await createCountUnderOwnId(route, by)(grant, () => owner, count);
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

test.each([1, 'a'])('refuses the id %j while a request with it is in progress', async (id) => {
  expect(await begin(id)).toBeTypeOf('object');
  expect(await begin(id)).toBe('body.message');
  expect(await begin(id, 'session', { owner: 'bob' })).toBe('body.message');
});

test.each([2 ** 53, -(2 ** 53), 1.5, rawJSON('9007199254740993'), rawJSON('1e400')])(
  'refuses the id %j, which servers in JavaScript read differently from others',
  async (id) => {
    expect(await begin(id)).toBe('body.message');
    expect(await begin('9007199254740993')).toBeTypeOf('object');
  },
);

test.each([2 ** 53 - 1, -(2 ** 53 - 1), 0, ''])('takes the id %j', async (id) => {
  expect(await begin(id)).toBeTypeOf('object');
});

test('a request that no rule counts has no verdict of its own', async () => {
  expect(((await begin(1)) as CountedCall).shadow).toBeUndefined();
});

test('a number and the string of its digits are one id', async () => {
  expect(await begin(1)).toBeTypeOf('object');
  expect(await begin('1')).toBe('body.message');
  expect(await begin('2')).toBeTypeOf('object');
  expect(await begin(2)).toBe('body.message');
});

test('another id, session or route is another request', async () => {
  expect(await begin(1)).toBeTypeOf('object');
  expect(await begin('2')).toBeTypeOf('object');
  expect(await begin(3)).toBeTypeOf('object');
  expect(await begin(1, 'other')).toBeTypeOf('object');
  expect(await begin(1, 'session', { route: routeOf('other') })).toBeTypeOf('object');
});

test('takes no id without a session, of a notification, and in shadow mode', async () => {
  const outside = { owner: 'alice', route: routeOf('tools', false) };
  for (let i = 0; i < 2; i += 1) {
    expect(await begin(1, null)).toBeUndefined();
    expect(await begin(null)).toBeUndefined();
    expect(await begin(1, 'session', outside)).toBeUndefined();
    expect(await begin(1, 'session', { route: { name: 'free' } as Route })).toBeUndefined();
  }
});

test.each<[CallOutcome, boolean]>([
  ['answered', true],
  ['returned', true],
  ['waiting', true],
  ['task', true],
  ['unanswered', false],
])('%s: whether the id is free again is %s', async (outcome, isFree) => {
  const request = (await begin(1)) as CountedCall;
  request.settle(outcome);
  request.settle('returned');
  expect((await begin(1)) !== 'body.message').toBe(isFree);
});

test('an id whose answer was not read is free after an hour', async () => {
  await begin(1);
  now = HOUR_MS - 1;
  expect(await begin(1)).toBe('body.message');
  now = HOUR_MS;
  expect(await begin(1)).toBeTypeOf('object');
});

test('a request that another rule refuses frees its id', async () => {
  const count = (): never => {
    throw new Denial('quota.exceeded', 'x');
  };
  expect(await begin(1, 'session', { count })).toBe('quota.exceeded');
  expect(await begin(1)).toBeTypeOf('object');
});

test('is the counted call, and settles it', async () => {
  const settled: unknown[] = [];
  const shadow = { reason: 'quota.exceeded', detail: '', rule: '', scope: [] } as const;
  const counted: CountedCall = {
    id: 'counted',
    shadow,
    settling: undefined,
    settle: (...outcome) => void settled.push(outcome),
  };
  const request = (await begin(1, 'session', { count: () => counted })) as CountedCall;
  expect(request).toMatchObject({ id: 'counted', shadow, settling: undefined });
  request.settle('returned', 'why');
  expect(settled).toEqual([['returned', 'why']]);
  expect(request.settling).toBeUndefined();
});

test('asks the ledger for a digest that no other request in progress left', async () => {
  const reserved: Reservation[] = [];
  const reserve = (reservation: Reservation): LedgerVerdict => {
    reserved.push(reservation);
    return { passed: true, failed: undefined };
  };
  await begin(1, 'secret', { by: { reserve, settle: () => {} } });
  const track = expect.stringMatching(/^[\w-]{43}$/) as string;
  expect(reserved).toMatchObject([{ checks: [{ kind: 'never_after', track }], entries: [{ track }] }]);
});

test('settling lasts until the call is settled, although the id is free at once', async () => {
  const settles = Promise.withResolvers<void>();
  const counted: CountedCall = { id: 'x', shadow: undefined, settling: settles.promise, settle: () => {} };
  const request = (await begin(1, 'session', { count: () => counted })) as CountedCall;
  request.settle('answered');
  expect(request.settling).toBeInstanceOf(Promise);
  settles.resolve();
  await request.settling;
  expect(request.settling).toBeUndefined();
});

test('settling lasts until the id is free and the call is settled', async () => {
  const frees = Promise.withResolvers<void>();
  const settles = Promise.withResolvers<void>();
  const by: Ledger = { reserve: () => ({ passed: true, failed: undefined }), settle: () => frees.promise };
  const counted: CountedCall = { id: 'x', shadow: undefined, settling: settles.promise, settle: () => {} };
  const both = (await begin(1, 'session', { by, count: () => counted })) as CountedCall;
  const alone = (await begin(2, 'session', { by })) as CountedCall;
  both.settle('answered');
  alone.settle('answered');
  let ended = 0;
  const ends = [both.settling, alone.settling].map((each) => each?.then(() => (ended += 1)));
  frees.resolve();
  await ends[1];
  expect([ended, alone.settling]).toEqual([1, undefined]);
  settles.resolve();
  await ends[0];
  expect(ended).toBe(2);
});

test('a full ledger refuses', async () => {
  ledger = createMemoryLedger(() => now, { ofAll: 0, ofOwner: 1 });
  expect(await begin(1)).toBe('history.full');
});

describe('a request in progress takes its id again every ten minutes', () => {
  /** Begins a request. Its ledger answers what follows by the given verdicts, in their order, and then lets all pass. */
  async function beginBy(...verdicts: (LedgerVerdict | Promise<LedgerVerdict> | Error)[]) {
    const passed: LedgerVerdict = { passed: true, failed: undefined };
    const timers = createManualTimers();
    const reserved: Reservation[] = [];
    const settled: string[][] = [];
    const by: Ledger = {
      reserve(reservation) {
        reserved.push(reservation);
        const verdict = verdicts[reserved.length - 2] ?? passed;
        if (verdict instanceof Error) throw verdict;
        return verdict;
      },
      settle: (...outcome) => void settled.push(outcome),
    };
    const grant = { action: { messageId: 1, sessionId: 'session' } } as unknown as Grant;
    const counted = await createCountUnderOwnId(routeOf(), by, timers)(
      grant,
      () => 'alice',
      () => undefined,
    );
    return { request: counted as CountedCall, timers, settled, reserved, ids: () => reserved.map(({ id }) => id) };
  }

  test('whatever else has it, and gives back what it held before', async () => {
    const { timers, settled, reserved, ids, request } = await beginBy();
    await timers.pass(10 * MINUTE_MS - 1);
    expect(reserved).toHaveLength(1);
    await timers.pass(10 * MINUTE_MS + 1);
    const [first, second, third] = ids();
    expect(new Set(ids()).size).toBe(3);
    expect(ids().join(' ')).toMatch(/^[0-9a-f]{32} [0-9a-f]{32} [0-9a-f]{32}$/);
    expect(reserved[1]).toEqual({ ...reserved[0], id: second, checks: [] });
    request.settle('answered');
    expect(settled).toEqual([first, second, third].map((id) => [id, 'returned', 'tools']));
  });

  test('also after the store was away, or had no room', async () => {
    const full: LedgerVerdict = { passed: false, failed: { why: 'full', detail: '' } };
    const { timers, settled, ids } = await beginBy(new Error('the store is away'), full);
    await timers.pass(20 * MINUTE_MS);
    expect(settled).toEqual([]);
    await timers.pass(10 * MINUTE_MS);
    expect(settled).toEqual([[ids()[0], 'returned', 'tools']]);
  });

  test.each<[CallOutcome, free: readonly number[]]>([
    ['answered', [0, 1]],
    ['unanswered', [0]],
  ])('but not once it is %s, not even if the store answers later', async (outcome, free) => {
    const late = Promise.withResolvers<LedgerVerdict>();
    const { request, timers, settled, ids } = await beginBy(late.promise);
    await timers.pass(10 * MINUTE_MS);
    request.settle(outcome);
    late.resolve({ passed: true, failed: undefined });
    await timers.pass(HOUR_MS);
    expect(ids()).toHaveLength(2);
    expect(settled).toEqual(free.map((index) => [ids()[index], 'returned', 'tools']));
  });

  test.each<CallOutcome>(['answered', 'unanswered'])('until it is %s', async (outcome) => {
    const { request, timers, reserved } = await beginBy();
    request.settle(outcome);
    await timers.pass(HOUR_MS);
    expect(reserved).toHaveLength(1);
  });
});
