import type { Settlement } from './ledger.ts';
import type { ShadowDenial } from './denial.ts';

/**
 * How a call ended, for rules over time. `unanswered`: it reached the upstream, and no answer of its own was read.
 * `unclear`: its answer does not say whether it acted. `task`: it created a task, whose result will follow. All three
 * count for `never_after` and quotas, and not for `after`. `unreached`: it never reached the upstream.
 */
export type CallOutcome = Settlement | 'task' | 'unclear' | 'unanswered' | 'unreached';

/** The proof that a person approved a call. It is used up, unless the call never reaches the upstream. */
export interface ApprovedCall extends CountedCall {
  /** The id of the approval; undefined in shadow mode. */
  readonly approval: string | undefined;
  /** As one with what rules over time counted. */
  and(counted: CountedCall | undefined): CountedCall;
}

/** The proof that rules over time have judged a call. If it never settles, it stays counted. */
export interface CountedCall {
  /** Names the call in the handles that its answer gives out. */
  readonly id: string;
  /** The refusal that `mode: shadow` did not enforce. */
  readonly shadow: ShadowDenial | undefined;
  /**
   * Ends when other processes see the settlement; undefined if they do, or there is none yet. The client must not get
   * the end of its answer before: its next call may depend on this one.
   */
  readonly settling: Promise<void> | undefined;
  /**
   * Settles the call. Only the first settlement has an effect.
   *
   * @param why Of a call that gives its part back, for operators.
   */
  settle(outcome: CallOutcome, why?: string): void;
}
