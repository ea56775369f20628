import type { PolicyDenial } from '../../core/model/denial.ts';

/** The meaning of a call for the history of its caller: what must have happened before, and what it is recorded as. */
export interface CallHistory {
  /** The rules over time that the call must meet, in the order of the policy. */
  readonly checks: readonly HistoryCheck[];
  /** The tracks that later calls look at. Each names its track once. */
  readonly records: readonly HistoryRecord[];
  /** Paths of the rules that are left out, because they depend on arguments that were not recorded. */
  readonly unknown: readonly string[];
  /** Whether the call passes, and is counted, whatever the checks say. */
  readonly isShadow: boolean;
}

/** A rule over time, for one call. */
export interface HistoryCheck {
  readonly kind: 'after' | 'never_after' | 'quota';
  /** Path into the policy file, such as `tools.disburse.quota[0]`. */
  readonly rule: string;
  /**
   * The counted calls that it looks at, as text: the rule, the owner and the compared values. Undefined if no call can
   * be among them, because the call lacks a value that must be the same.
   */
  readonly track: string | undefined;
  readonly windowMs: number;
  /** What the call adds to a quota, in whole units; otherwise 0. */
  readonly amount: number;
  /** The most that a quota may sum up to, in whole units; otherwise 0. */
  readonly limit: number;
  /** The decimal places of a unit. */
  readonly decimals: number;
  /** The refusal of a call that does not meet it. */
  readonly denial: PolicyDenial;
  /** Whether the call itself breaks it, whatever came before: `never_after`, by an earlier call of the same batch. */
  readonly isBroken?: true;
}

/** The record that a call leaves in one track. */
export interface HistoryRecord {
  readonly track: string;
  /** In whole units; 0 in a track that no quota sums up. */
  readonly amount: number;
  readonly keepMs: number;
}
