import { describe, expect, test } from 'vitest';
import type { DecisionRecord } from '../../../src/core/model/decision.ts';
import type { HistoryCheck } from '../../../src/policy-parts/history/call-history.ts';
import type { LedgerCheck } from '../../../src/policy-parts/history/ledger.ts';
import { metAsRecorded, TrackChanges } from '../../../src/analysis/review/replay.ts';

/** A quota on one track. */
const quota = (limit: number): LedgerCheck => ({ kind: 'quota', track: 'quota', amount: 1, limit });
const past = (kind: 'after' | 'never_after'): LedgerCheck => ({ kind, track: kind, amount: 0, limit: 0 });

const checks = [past('never_after'), past('after'), quota(3)];
/** One rule of each kind, whose path is its kind. */
const before = {
  history: {
    checks: checks.map(({ kind }) => ({ kind, rule: kind })) as HistoryCheck[],
    records: [],
    unknown: [],
    isShadow: false,
  },
  reservation: {
    route: 'main',
    id: 'call',
    owner: 'alice',
    checks,
    entries: [],
    isShadow: false,
    continues: undefined,
  },
};
const passed = { allow: true } as DecisionRecord;
const shadow = { allow: true, reason: 'quota.exceeded', rule: 'quota' } as DecisionRecord;
const missing = { allow: false, reason: 'history.missing', rule: 'after' } as DecisionRecord;
const forbidden = { allow: false, reason: 'history.forbidden', rule: 'never_after' } as DecisionRecord;
const exceeded = { allow: false, reason: 'quota.exceeded', rule: 'quota' } as DecisionRecord;
const other = { allow: false, reason: 'claim.denied', rule: 'quota' } as DecisionRecord;

describe('what a recorded decision tells of a rule over time, whatever came before the log', () => {
  test.each<[string, LedgerCheck, DecisionRecord, number, boolean | undefined]>([
    ['passes again under the same limit', quota(3), passed, 0, true],
    ['passes again under a laxer limit', quota(4), passed, 0, true],
    ['may not pass under a stricter limit', quota(2), passed, 0, undefined],
    ['may not pass where more calls count than then', quota(3), passed, 1, undefined],
    ['passes again under a limit that is laxer by as much', quota(4), passed, 1, true],
    ['passes again under a stricter limit where fewer calls count', quota(2), passed, -1, true],
    ['is refused again under the same limit', quota(3), exceeded, 0, false],
    ['is refused again under a stricter limit', quota(2), exceeded, 0, false],
    ['passes under a limit with room for it', quota(4), exceeded, 0, true],
    ['passes where fewer calls count than then', quota(3), exceeded, -1, true],
    ['passes under a limit with room beside calls that count now', quota(6), exceeded, 2, true],
    ['is refused under a limit that calls which count now use up', quota(5), exceeded, 2, false],
    ['may pass in shadow mode, where calls beyond the limit count too', quota(4), shadow, 0, undefined],
    ['is refused again in shadow mode', quota(2), shadow, 0, false],
    ['had been preceded', past('after'), passed, 0, true],
    ['may not have been preceded by calls that count no longer', past('after'), passed, -1, undefined],
    ['had not been preceded', past('after'), missing, 0, false],
    ['may be preceded by calls that count now', past('after'), missing, 1, undefined],
    ['came after none', past('never_after'), passed, 0, true],
    ['may come after calls that count now', past('never_after'), passed, 1, undefined],
    ['came after one', past('never_after'), forbidden, 0, false],
    ['met the rules before the one that refused it', past('never_after'), exceeded, 0, true],
    ['may not have met the rules after the one that refused it', quota(3), missing, 0, undefined],
    ['was refused for something else', quota(3), other, 0, undefined],
    ['was under no rule of this track', { ...quota(3), track: 'other' }, passed, 0, undefined],
    ['was under no rule of this kind', { ...quota(3), kind: 'after' }, passed, 0, undefined],
  ])('R-280: a call %s', (_, check, record, change, isMet) => {
    expect(metAsRecorded(check, before, record, change)).toBe(isMet);
  });
});

test('changes of a track are the calls that one policy counts and the other does not, until they end', () => {
  const left = (...tracks: string[]) => ({ entries: tracks.map((track) => ({ track, amount: 1, keepMs: 10 })) });
  const changes = new TrackChanges();
  changes.note(left('a', 'b'), left('a', 'c'), 0);
  changes.note(left('b'), undefined, 5);
  changes.note(undefined, left('b', 'c'), 5);
  expect(['a', 'b', 'c', 'd'].map((track) => changes.of(track, 9))).toEqual([0, -1, 2, 0]);
  expect(['b', 'c'].map((track) => changes.of(track, 10))).toEqual([0, 1]);
  expect(['b', 'c'].map((track) => changes.of(track, 15))).toEqual([0, 0]);
});

// With a walk over all earlier changes for each call, this would take minutes.
test('changes of a track are counted for 100,000 calls of one caller', () => {
  const changes = new TrackChanges();
  const entries = [{ track: 'a', amount: 1, keepMs: 60_000 }];
  let most = 0;
  for (let at = 0; at < 100_000; at += 1) {
    most = Math.max(most, changes.of('a', at));
    changes.note(undefined, { entries }, at);
  }
  expect(most).toBe(59_999);
});
