import { reservationOf } from '../store/reservation.ts';
import type { HistoryCheck, CallHistory } from '../model/history.ts';
import type { DecisionRecord } from '../model/decision.ts';
import type { LedgerCheck, LedgerEntry, Reservation } from '../model/ledger.ts';
import type { Attempt, Decision, PolicyDecision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { createReviewLedger, deniedBy, failureOf } from './rules-over-time.ts';
import { isReasonBy } from '../model/reasons.ts';

/** A recorded call, decided again by a policy, apart from its rules over time. */
interface RecordedCall {
  readonly record: DecisionRecord;
  /** The decision on it by the policy under which it was recorded. */
  readonly recordedBy: PolicyDecision | undefined;
  readonly principal: Principal;
  readonly attempt: Attempt;
  readonly decision: PolicyDecision;
}

/** Decides a call by rules over time too; undefined if what is recorded does not tell. */
export type JudgeOverTime = (call: RecordedCall) => Decision | undefined;

/** For decisions that are not all of a log, or not in its order: rules over time remain open. */
export const openOverTime: JudgeOverTime = ({ principal, attempt, decision }) => {
  const history = decision.allow ? decision.plan.history(principal, attempt) : undefined;
  const isOpen = history !== undefined && history.checks.length + history.unknown.length > 0;
  return isOpen ? undefined : decision;
};

/** The calls of a log, counted in its order by the ledger that counts for the gateway. */
export interface ReplayedCalls {
  readonly judge: JudgeOverTime;
  /** A call was refunded: it no longer counts. */
  readonly settled: (decision: string) => void;
}

/**
 * Begins to count the calls of a log. A call that did not give its part back is taken as answered, and a call that
 * cannot be decided again as it was recorded.
 *
 * @param beganAt When the log begins, in milliseconds since the epoch. Calls before that are not known.
 * @param returned The decisions on calls that give their part back later in the log.
 */
export function createReplayedCalls(beganAt: number, returned: ReadonlySet<string>): ReplayedCalls {
  let now = -Infinity;
  const ledger = createReviewLedger(() => now);
  const changes = createTrackChanges();

  function judged(counted: CountedBy, before: CountedBy | undefined, record: DecisionRecord): Judged {
    let isCertain = counted.history.unknown.length === 0;
    for (const [index, check] of counted.history.checks.entries()) {
      const isMet = isMetBy(counted, index, before, record);
      if (isMet === false) return { refusing: check, isCertain };
      if (isMet === undefined) isCertain = false;
    }
    return { refusing: undefined, isCertain };
  }

  /** Whether a check is met; undefined if calls before the log may decide it. */
  function isMetBy(
    { history, reservation }: CountedBy,
    index: number,
    before: CountedBy | undefined,
    record: DecisionRecord,
  ): boolean | undefined {
    const { kind, windowMs } = history.checks[index] as HistoryCheck;
    const isMet = failureOf(ledger, reservation, index) === undefined;
    // An earlier call can only help `after`, and only hurt the others.
    const couldDiffer = isMet !== (kind === 'after') && now - windowMs < beganAt;
    if (!couldDiffer) return isMet;
    const check = reservation.checks[index] as LedgerCheck;
    return before && metAsRecorded(check, before, record, changes.of(check.track, now));
  }

  return {
    settled: (decision) => ledger.settle(decision, 'returned'),
    judge(call) {
      const { record, recordedBy, decision } = call;
      const { id, at } = record;
      now = at;
      const before = countedBy(recordedBy, call);
      const counted = countedBy(decision, call);
      const { refusing, isCertain } = counted === undefined ? met : judged(counted, before, record);
      const passes = refusing === undefined && (isCertain || record.allow);
      const isCounted = decision.allow && (passes || counted?.history.isShadow === true);
      if (counted !== undefined && isCounted) {
        ledger.reserve({ ...counted.reservation, checks: [], isShadow: true });
        if (!returned.has(id)) ledger.settle(id, 'answered');
      }
      if (!returned.has(id)) {
        changes.note(record.allow ? before?.reservation : undefined, isCounted ? counted?.reservation : undefined, now);
      }
      if (!decision.allow || decision.shadow !== undefined) return decision;
      if (refusing === undefined) return isCertain ? decision : undefined;
      return deniedBy(refusing, counted?.history.isShadow === true);
    },
  };
}

/** How the rules over time of a policy decide a call. */
interface Judged {
  /** The first rule that is not met for certain. */
  readonly refusing: HistoryCheck | undefined;
  /** Whether all rules before it are met for certain. */
  readonly isCertain: boolean;
}

const met: Judged = { refusing: undefined, isCertain: true };

function countedBy(
  decision: PolicyDecision | undefined,
  { record, principal, attempt }: RecordedCall,
): CountedBy | undefined {
  const history = decision?.plan.history(principal, attempt);
  if (history === undefined) return undefined;
  const { id, route = '' } = record;
  return { history, reservation: reservationOf(history, { id, principal, route, continues: undefined }) };
}

/** What a call means for the rules over time of a policy, and what a ledger is asked about it. */
interface CountedBy {
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
interface TrackChanges {
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
