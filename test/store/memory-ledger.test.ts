import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Timers } from '../../src/lib/clock.ts';
import { createMemoryLedger, createProcessLedger, type MemoryLedger } from '../../src/store/memory-ledger.ts';
import type { Ledger, LedgerVerdict, Reservation } from '../../src/model/ledger.ts';
import { call } from '../pipeline/history/call.ts';
import { play } from './play.ts';
import { steps } from './random-calls.ts';
import { createReferenceLedger } from './reference-ledger.ts';

const HOUR = 3_600_000;

/** A call that adds `amount` to the quota of `limit` in an hour. */
function spend(amount: number, limit: number, wanted: Partial<Reservation> = {}): Reservation {
  return call({
    checks: [{ kind: 'quota', track: 'q', amount, limit }],
    entries: [{ track: 'q', amount, keepMs: HOUR }],
    ...wanted,
  });
}

const left = (track: string): Reservation => call({ entries: [{ track, amount: 0, keepMs: HOUR }] });
const passed: LedgerVerdict = { passed: true, failed: undefined };
const refused = (retryAfterMs = 0, check = 0): LedgerVerdict => ({
  passed: false,
  failed: { why: 'check', check, retryAfterMs },
});

function ledgerAt(start = 1000): MemoryLedger & { wait(ms: number): void } {
  let now = start;
  return { ...createMemoryLedger(() => now), wait: (ms) => void (now += ms) };
}

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
  const bounded = (ofAll: number, ofOwner: number, clock = (): number => 0): MemoryLedger =>
    createMemoryLedger(clock, { ofAll, ofOwner });
  const full = (detail: string): LedgerVerdict => ({ passed: false, failed: { why: 'full', detail } });
  const by = (owner: string, wanted: Partial<Reservation> = {}): Reservation => ({ ...left('t'), owner, ...wanted });

  test('refuse a caller that has its part, and no other', () => {
    const ledger = bounded(10, 2);
    expect([by('alice'), by('alice'), by('alice'), by('bob')].map((each) => ledger.reserve(each))).toEqual([
      passed,
      passed,
      full('2 entries of this caller are kept'),
      passed,
    ]);
  });

  test('refuse every caller when the ledger is full, until entries end or are given back', () => {
    let now = 0;
    const ledger = bounded(2, 2, () => now);
    const first = by('alice');
    expect([first, by('bob'), by('carol')].map((each) => ledger.reserve(each))).toEqual([
      passed,
      passed,
      full('2 entries are kept'),
    ]);
    ledger.settle(first.id, 'returned');
    expect([by('carol'), by('dave')].map((each) => ledger.reserve(each))).toEqual([passed, full('2 entries are kept')]);
    now = HOUR;
    expect([by('dave'), by('alice')].map((each) => ledger.reserve(each))).toEqual([passed, passed]);
  });

  test('let a caller use the part that ended or was given back, and no more', () => {
    let now = 0;
    const ledger = bounded(100, 3, () => now);
    const first = by('alice');
    ledger.reserve(first);
    now = 1;
    ledger.reserve(by('alice'));
    ledger.reserve(by('alice'));
    const tries = (): readonly boolean[] => [by('alice'), by('alice')].map((each) => ledger.reserve(each).passed);
    ledger.settle(first.id, 'returned');
    expect(tries()).toEqual([true, false]);
    now = HOUR + 1;
    expect([...tries(), ...tries()]).toEqual([true, true, true, false]);
  });

  test('count all entries of a call, or none', () => {
    const ledger = bounded(3, 3);
    const two = (): Reservation =>
      by('alice', { entries: ['t', 'u'].map((track) => ({ track, amount: 0, keepMs: HOUR })) });
    expect([two(), two(), by('alice'), by('alice')].map((each) => ledger.reserve(each))).toEqual([
      passed,
      full('2 entries of this caller are kept'),
      passed,
      full('3 entries of this caller are kept'),
    ]);
  });

  test('let a further round pass, which takes over its entries', () => {
    const ledger = bounded(1, 1);
    const first = by('alice');
    ledger.reserve(first);
    ledger.settle(first.id, 'waiting');
    expect(ledger.reserve(by('alice', { continues: first.id }))).toEqual(passed);
  });

  test('need room for the entries of a further round that have ended since', () => {
    let now = 0;
    const ledger = bounded(2, 2, () => now);
    const two = (wanted: Partial<Reservation> = {}): Reservation => {
      const entries = [HOUR, 2 * HOUR].map((keepMs) => ({ track: String(keepMs), amount: 0, keepMs }));
      return by('alice', { entries, ...wanted });
    };
    const first = two();
    ledger.reserve(first);
    ledger.settle(first.id, 'waiting');
    now = HOUR;
    const other = by('alice');
    ledger.reserve(other);
    const second = two({ continues: first.id });
    expect(ledger.reserve(second)).toEqual(full('2 entries of this caller are kept'));
    ledger.settle(other.id, 'returned');
    expect(ledger.reserve(second)).toEqual(passed);
  });

  test('refuse nothing in shadow mode', () => {
    const ledger = bounded(1, 1);
    ledger.reserve(by('alice'));
    const failed = { why: 'full', detail: '1 entries of this caller are kept' };
    expect(ledger.reserve(by('alice', { isShadow: true }))).toEqual({ passed: true, failed });
  });

  test('let calls pass that leave nothing', () => {
    const ledger = bounded(1, 1);
    ledger.reserve(by('alice'));
    expect(ledger.reserve(by('alice', { entries: [] }))).toEqual(passed);
  });
});

test('an entry that ended before its call was answered is no answered call', () => {
  const ledger = ledgerAt();
  const keep = (keepMs: readonly number[]): Reservation =>
    call({ entries: keepMs.map((ms) => ({ track: String(ms), amount: 0, keepMs: ms })) });
  const first = keep([1000, HOUR]);
  ledger.reserve(first);
  ledger.wait(500);
  ledger.reserve(keep([1000]));
  ledger.wait(500);
  ledger.reserve(call());
  ledger.settle(first.id, 'answered');
  const after = (track: string): Reservation => call({ checks: [{ kind: 'after', track, amount: 0, limit: 0 }] });
  expect([ledger.reserve(after('1000')), ledger.reserve(after(String(HOUR)))]).toEqual([refused(), passed]);
});

test('the ledger of this process counts by its clock', () => {
  const ledger = createProcessLedger();
  expect(ledger.reserve(spend(3, 5))).toEqual(passed);
  expect(ledger.reserve(spend(3, 5))).toMatchObject({ failed: { why: 'check' } });
  const { failed } = ledger.reserve(spend(3, 5)) as { failed: { retryAfterMs: number } };
  expect(Math.abs(failed.retryAfterMs - HOUR)).toBeLessThan(60_000);
});

describe('what ends while no call comes', () => {
  test('is waited for until the first of it ends, and not at all once it has', () => {
    let now = 0;
    const turns: { readonly pauseMs: number; readonly run: () => void }[] = [];
    const after: Timers['after'] = (pauseMs, run) => {
      turns.push({ pauseMs, run });
      return () => {};
    };
    const ledger = createMemoryLedger(() => now, undefined, { now: () => now, after });
    const keepFor = (keepMs: number): void =>
      void ledger.reserve(call({ entries: [{ track: 't', amount: 0, keepMs }] }));
    for (let count = 0; count < 1001; count += 1) keepFor(1_000);
    keepFor(60_000);
    const pauses: number[] = [];
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      pauses.push(turn.pauseMs);
      now += turn.pauseMs;
      turn.run();
    }
    expect(pauses).toEqual([1_000, 0, 59_000]);
  });

  test('is removed a part at a time, so that the next call need not remove it', async () => {
    let now = 0;
    const turns: { readonly at: number; readonly run: () => void }[] = [];
    const timers: Timers = {
      now: () => now,
      after(pauseMs, run) {
        turns.push({ at: now + pauseMs, run });
        return () => {};
      },
    };
    const ledger = createMemoryLedger(() => now, undefined, timers);
    for (; now < 4500; now += 1) ledger.reserve(left(`track-${now % 3}`));
    expect(ledger.size()).toBe(4500);
    const sizes: number[] = [];
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      now = Math.max(turn.at, sizes.length === 0 ? HOUR + 4400 : 0);
      turn.run();
      sizes.push(ledger.size());
      // One turn at a time waits.
      expect(turns.length).toBeLessThanOrEqual(1);
    }
    expect(sizes).toEqual([3500, 2500, 1500, 500, 99, 0]);
    expect(now).toBe(HOUR + 4500);
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
  const ledger = ledgerAt();
  ledger.reserve(spend(5, 5));
  ledger.wait(1000);
  ledger.reserve(call());
  ledger.wait(-500_000);
  expect(ledger.reserve(spend(1, 5))).toEqual(refused(HOUR - 1000));
  ledger.wait(500_000 + HOUR - 1001);
  expect(ledger.reserve(spend(1, 5))).toEqual(refused(1));
});
