import { reservationOf } from '../history/count.ts';
import type { HistoryCheck } from '../model/history.ts';
import type { Attempt, Decision, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { RecordedDecision } from './recorded-decision.ts';
import { createReviewLedger, deniedBy, failureOf } from './rules-over-time.ts';

/** A recorded call that a policy allows, apart from its rules over time. */
interface AllowedCall {
  readonly record: RecordedDecision;
  readonly policy: Policy;
  readonly principal: Principal;
  readonly attempt: Attempt;
  readonly decision: Extract<Decision, { readonly allow: true }>;
}

/** Decides a call by rules over time too; undefined if what is recorded does not tell. */
export type JudgeOverTime = (call: AllowedCall) => Decision | undefined;

/** For decisions that are not all of a log, or not in its order: rules over time remain open. */
export const openOverTime: JudgeOverTime = ({ policy, principal, attempt, decision }) => {
  const history = policy.history?.(principal, attempt);
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
 * Begins to count the calls of a log. A call that did not give its part back is taken as answered.
 *
 * @param beganAt When the log begins, in milliseconds since the epoch. Calls before that are not known.
 * @param returned The decisions on calls that give their part back later in the log.
 */
export function createReplayedCalls(beganAt: number, returned: ReadonlySet<string>): ReplayedCalls {
  let now = -Infinity;
  const ledger = createReviewLedger(() => now);

  return {
    settled: (decision) => ledger.settle(decision, 'returned'),
    judge({ record, policy, principal, attempt, decision }) {
      const history = policy.history?.(principal, attempt);
      if (history === undefined) return decision;
      now = Date.parse(record.time);
      const { decision: id, route } = record;
      const whole = reservationOf(history, { id, principal, route, continues: undefined });
      let isCertain = history.unknown.length === 0;
      let refusing: HistoryCheck | undefined;
      for (const [index, check] of history.checks.entries()) {
        const isMet = failureOf(ledger, whole, index) === undefined;
        // An earlier call can only help `after`, and only hurt the others.
        const couldDiffer = isMet !== (check.kind === 'after') && now - check.windowMs < beganAt;
        if (couldDiffer) isCertain = false;
        else if (!isMet) {
          refusing = check;
          break;
        }
      }
      const passes = refusing === undefined && (isCertain || record.allow);
      if (passes || history.isShadow) {
        ledger.reserve({ ...whole, checks: [], isShadow: true });
        if (!returned.has(id)) ledger.settle(id, 'answered');
      }
      if (decision.shadow !== undefined) return decision;
      if (refusing === undefined) return isCertain ? decision : undefined;
      return deniedBy(refusing, history.isShadow);
    },
  };
}
