import { isReasonBy } from '../model/reasons.ts';
import type { CallHistory } from '../model/history.ts';
import type { DecisionRecord } from '../model/decision.ts';
import type { LedgerCheck, LedgerEntry, Reservation } from '../model/ledger.ts';

/** What a call means for the rules over time of a policy, and what a ledger is asked about it. */
export interface CountedBy {
  readonly history: CallHistory;
  readonly reservation: Reservation;
}

/**
 * Whether a check is met, if the recorded decision tells it; undefined if it does not. A call that passed bounds the
 * number of calls before the log from above, and a call that was refused from below. So it passes again under a limit
 * that is not stricter, and is refused again under one that is not laxer. Outside shadow mode, the calls that a quota
 * counted never exceeded its limit: a refused call passes under a limit that has room for it beside all of them.
 *
 * @param before By the policy that made the decision.
 * @param change How many more calls the track has now than when the call was recorded.
 */
export function metAsRecorded(
  { kind, track, limit, amount }: LedgerCheck,
  { history, reservation }: CountedBy,
  record: DecisionRecord,
  change: number,
): boolean | undefined {
  const index = reservation.checks.findIndex((each) => each.kind === kind && each.track === track);
  const then = reservation.checks[index];
  const wasMet = recordedOutcome(history, index, record);
  if (then === undefined || wasMet === undefined) return undefined;
  const room = limit - amount - change - (then.limit - then.amount);
  // `after` is met by a call more than its limit of none.
  const wasExceeded = wasMet === (kind === 'after');
  if (wasExceeded ? room <= 0 : room >= 0) return wasMet;
  return kind === 'quota' && wasExceeded && !record.allow && room >= then.amount ? true : undefined;
}

/** Whether a check was met. The first one that is not met refuses a call. */
function recordedOutcome(
  { checks }: CallHistory,
  index: number,
  { allow, reason, rule }: DecisionRecord,
): boolean | undefined {
  if (reason === undefined) return allow;
  const refusing = isReasonBy('history', reason) ? checks.findIndex((check) => check.rule === rule) : -1;
  return index > refusing ? undefined : index < refusing;
}

type Left = Pick<Reservation, 'entries'>;

/** How many more calls the tracks have under an edited policy than when a log was recorded. */
export interface TrackChanges {
  /** Notes a call: what it left then, and what it leaves now. */
  readonly note: (then: Left | undefined, now: Left | undefined, at: number) => void;
  readonly of: (track: string, at: number) => number;
}

/** The changes of one track, in the order in which they end: all entries of a track are kept for the same time. */
interface Changes {
  readonly all: { readonly endsAt: number; readonly by: 1 | -1 }[];
  /** How many of them have ended. */
  ended: number;
  /** Of those that have not ended. */
  sum: number;
}

/** Creates it without any change. Its time never goes back. */
export function createTrackChanges(): TrackChanges {
  const tracks = new Map<string, Changes>();

  function add(entries: readonly LedgerEntry[], others: readonly LedgerEntry[], by: 1 | -1, at: number): void {
    for (const { track, keepMs } of entries) {
      if (others.some((other) => other.track === track)) continue;
      const changes = tracks.get(track) ?? { all: [], ended: 0, sum: 0 };
      changes.all.push({ endsAt: at + keepMs, by });
      changes.sum += by;
      tracks.set(track, changes);
    }
  }

  return {
    note({ entries: then } = nothing, { entries: now } = nothing, at) {
      add(now, then, 1, at);
      add(then, now, -1, at);
    },
    of(track, at) {
      const changes = tracks.get(track);
      if (changes === undefined) return 0;
      for (let next = changes.all[changes.ended]; next !== undefined && next.endsAt <= at;) {
        changes.sum -= next.by;
        changes.ended += 1;
        next = changes.all[changes.ended];
      }
      return changes.sum;
    },
  };
}

const nothing: Left = { entries: [] };
