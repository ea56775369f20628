import { reservationOf } from '../store/reservation.ts';
import type { HistoryCheck } from '../model/history.ts';
import type { DecisionRecord } from '../model/decision.ts';
import type { LedgerCheck } from '../model/ledger.ts';
import type { Attempt, Decision, PolicyDecision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { type CountedBy, createTrackChanges, metAsRecorded } from './recorded-counts.ts';
import { createReviewLedger, deniedBy, failureOf } from './rules-over-time.ts';

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
  /** A call gave its part back. */
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
