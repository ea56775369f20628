import { type Attempt, PartKey } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { PlanPart } from '../../core/policy/part.ts';
import type { CallHistory } from './call-history.ts';
import type { HistoryRule, PastRule } from './rules.ts';

/** The rules over time of a policy. */
export interface PolicyHistory {
  /** The rules of all entries that look back at calls. */
  readonly past: readonly PastRule[];
}

/** The rules over time that concern calls of one kind. */
export interface PlanHistory extends PlanPart {
  /** The rules that such a call must meet. */
  readonly own: readonly HistoryRule[];
  /** The rules of other calls that look back at such a call: it must have an owner. */
  readonly owners: readonly PastRule[];
  /**
   * What a call that the policy allows means for rules over time: what it must meet, and what it is recorded as.
   * Undefined for a call that no such rule concerns.
   *
   * @param exact The arguments with numbers as they were written, where JavaScript would round them; default: those of
   *   the attempt.
   * @param isInner Whether it is an inner call of another one.
   */
  of(principal: Principal, attempt: Attempt, exact?: () => unknown, isInner?: boolean): CallHistory | undefined;
}

/** Rules over time: `after`, `never_after` and `quota` of entries. */
export const historyKey = new PartKey<PolicyHistory, PlanHistory>('rules over time');
