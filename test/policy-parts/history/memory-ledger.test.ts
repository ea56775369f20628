import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Timers } from '../../../src/core/lib/clock.ts';
import { createMemoryLedger, createProcessLedger } from '../../../src/policy-parts/history/memory-ledger.ts';
import type { Settlement } from '../../../src/core/model/history.ts';
import type { Ledger, LedgerVerdict, Reservation } from '../../../src/policy-parts/history/ledger.ts';
import { call } from '../../capabilities/history/call.ts';
import { play } from '../../capabilities/shared-store/play.ts';
import { steps } from '../../capabilities/shared-store/random-calls.ts';
import { createReferenceLedger } from '../../capabilities/shared-store/reference-ledger.ts';

const HOUR = 3_600_000;

/** A call that adds `amount` to the quota of `limit` in an hour. */
const spend = (amount: number, limit: number): Reservation =>
  call({ checks: [{ kind: 'quota', track: 'q', amount, limit }], entries: [{ track: 'q', amount, keepMs: HOUR }] });

const left = (track: string): Reservation => call({ entries: [{ track, amount: 0, keepMs: HOUR }] });
const passed: LedgerVerdict = { passed: true, failed: undefined };

test('decides as a ledger that walks over everything, for random calls and times', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (random) => {
      const played = (create: (clock: () => number) => Ledger): ReturnType<typeof play> => {
        let now = 0;
        return play(
          create(() => now),
          random,
          (ms) => void (now += ms),
        );
      };
      expect(await played(createMemoryLedger)).toEqual(await played(createReferenceLedger));
    }),
    { numRuns: 500 },
  );
});

describe('bounds', () => {
  let now: number;
  beforeEach(() => (now = 0));
  /** A ledger with bounds, and what it answers to calls in turn. */
  function bounded(ofAll: number, ofOwner: number) {
    const ledger = createMemoryLedger(() => now, { ofAll, ofOwner });
    return {
      settle: (id: string, outcome: Settlement) => ledger.settle(id, outcome),
      verdicts: (...calls: readonly Reservation[]) => calls.map((each) => ledger.reserve(each)),
    };
  }
  const full = (detail: string): LedgerVerdict => ({ passed: false, failed: { why: 'full', detail } });
  const [fullForAll, fullForOwner] = [full('2 entries are kept'), full('2 entries of this caller are kept')];
  const by = (owner: string, wanted: Partial<Reservation> = {}): Reservation => ({ ...left('t'), owner, ...wanted });

  test('refuse a caller that has its part, and no other', () => {
    const { verdicts } = bounded(10, 2);
    const found = verdicts(by('alice'), by('alice'), by('alice'), by('bob'));
    expect(found).toEqual([passed, passed, fullForOwner, passed]);
  });

  test('refuse every caller when the ledger is full, until entries end or are given back', () => {
    const { verdicts, settle } = bounded(2, 2);
    const first = by('alice');
    expect(verdicts(first, by('bob'), by('carol'))).toEqual([passed, passed, fullForAll]);
    settle(first.id, 'returned');
    expect(verdicts(by('carol'), by('dave'))).toEqual([passed, fullForAll]);
    now = HOUR;
    expect(verdicts(by('dave'), by('alice'))).toEqual([passed, passed]);
  });

  test('let a caller use the part that ended or was given back, and no more', () => {
    const { verdicts, settle } = bounded(100, 3);
    const first = by('alice');
    verdicts(first);
    now = 1;
    verdicts(by('alice'), by('alice'));
    const tries = (count: number): readonly boolean[] =>
      verdicts(...Array.from({ length: count }, () => by('alice'))).map((verdict) => verdict.passed);
    settle(first.id, 'returned');
    expect(tries(2)).toEqual([true, false]);
    now = HOUR + 1;
    expect(tries(4)).toEqual([true, true, true, false]);
  });

  test('count all entries of a call, or none', () => {
    const { verdicts } = bounded(3, 3);
    const two = (): Reservation =>
      by('alice', { entries: ['t', 'u'].map((track) => ({ track, amount: 0, keepMs: HOUR })) });
    const found = verdicts(two(), two(), by('alice'), by('alice'));
    expect(found).toEqual([passed, fullForOwner, passed, full('3 entries of this caller are kept')]);
  });

  test('let a further round pass, which takes over its entries', () => {
    const { verdicts, settle } = bounded(1, 1);
    const first = by('alice');
    verdicts(first);
    settle(first.id, 'waiting');
    expect(verdicts(by('alice', { continues: first.id }))).toEqual([passed]);
  });

  test('need room for the entries of a further round that have ended since', () => {
    const { verdicts, settle } = bounded(2, 2);
    const entries = [HOUR, 2 * HOUR].map((keepMs) => ({ track: String(keepMs), amount: 0, keepMs }));
    const first = by('alice', { entries });
    verdicts(first);
    settle(first.id, 'waiting');
    now = HOUR;
    const [other, second] = [by('alice'), by('alice', { entries, continues: first.id })];
    expect(verdicts(other, second)).toEqual([passed, fullForOwner]);
    settle(other.id, 'returned');
    expect(verdicts(second)).toEqual([passed]);
  });

  test('refuse nothing in shadow mode, and no call that leaves nothing', () => {
    const { verdicts } = bounded(2, 2);
    verdicts(by('alice'), by('alice'));
    const found = verdicts(by('alice', { isShadow: true }), by('alice', { entries: [] }));
    expect(found).toEqual([{ ...fullForOwner, passed: true }, passed]);
  });
});

test('an entry that ended before its call was answered is no answered call', () => {
  let now = 0;
  const ledger = createMemoryLedger(() => now);
  const keep = (keepMs: readonly number[]): Reservation =>
    call({ entries: keepMs.map((ms) => ({ track: String(ms), amount: 0, keepMs: ms })) });
  const first = keep([1000, HOUR]);
  ledger.reserve(first);
  now += 500;
  ledger.reserve(keep([1000]));
  now += 500;
  ledger.reserve(call());
  ledger.settle(first.id, 'answered');
  const after = (track: string): Reservation => call({ checks: [{ kind: 'after', track, amount: 0, limit: 0 }] });
  expect(ledger.reserve(after('1000'))).toMatchObject({ failed: { why: 'check', retryAfterMs: 0 } });
  expect(ledger.reserve(after(String(HOUR)))).toEqual(passed);
});

test('the ledger of this process counts by its clock', () => {
  const ledger = createProcessLedger();
  expect(ledger.reserve(spend(3, 5))).toEqual(passed);
  expect(ledger.reserve(spend(3, 5))).toMatchObject({ failed: { why: 'check' } });
  const { failed } = ledger.reserve(spend(3, 5)) as { failed: { retryAfterMs: number } };
  expect(Math.abs(failed.retryAfterMs - HOUR)).toBeLessThan(60_000);
});

describe('what ends while no call comes', () => {
  /** A ledger, and the turns that it waits for. */
  function waiting() {
    const time = { now: 0 };
    const turns: { readonly pauseMs: number; readonly at: number; readonly run: () => void }[] = [];
    const now = (): number => time.now;
    const timers: Timers = {
      now,
      after(pauseMs, run) {
        turns.push({ pauseMs, at: time.now + pauseMs, run });
        return () => {};
      },
    };
    return { time, turns, ledger: createMemoryLedger(now, undefined, timers) };
  }

  test('is waited for until the first of it ends, and not at all once it has', () => {
    const { time, turns, ledger } = waiting();
    for (const keepMs of [...Array<number>(1001).fill(1_000), 60_000])
      ledger.reserve(call({ entries: [{ track: 't', amount: 0, keepMs }] }));
    const pauses: number[] = [];
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      pauses.push(turn.pauseMs);
      time.now = turn.at;
      turn.run();
    }
    expect(pauses).toEqual([1_000, 0, 59_000]);
  });

  test('is removed a part at a time, so that the next call need not remove it', () => {
    const { time, turns, ledger } = waiting();
    for (; time.now < 4500; time.now += 1) ledger.reserve(left(`track-${time.now % 3}`));
    expect(ledger.size()).toBe(4500);
    const sizes: number[] = [];
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      time.now = Math.max(turn.at, sizes.length === 0 ? HOUR + 4400 : 0);
      turn.run();
      sizes.push(ledger.size());
      // One turn at a time waits.
      expect(turns.length).toBeLessThanOrEqual(1);
    }
    expect(sizes).toEqual([3500, 2500, 1500, 500, 99, 0]);
    expect(time.now).toBe(HOUR + 4500);
  });

  test('is not waited for where nothing is kept', () => {
    const after = (): never => {
      throw new Error('a timer is running');
    };
    const ledger = createMemoryLedger(() => 0, undefined, { now: () => 0, after });
    expect(ledger.reserve(call())).toEqual(passed);
  });
});

test('stands still while the clock goes backwards', () => {
  let now = 1_000_000;
  const ledger = createMemoryLedger(() => now);
  ledger.reserve(spend(5, 5));
  now += 1000;
  ledger.reserve(call());
  now -= 500_000;
  expect(ledger.reserve(spend(1, 5))).toMatchObject({ failed: { retryAfterMs: HOUR - 1000 } });
  now += 500_000 + HOUR - 1001;
  expect(ledger.reserve(spend(1, 5))).toMatchObject({ failed: { retryAfterMs: 1 } });
});
