import type { ShadowDenial } from './denial.ts';

/**
 * How a call ended. `answered`: without an error. `returned`: it never reached the upstream, or was answered with an
 * error, so that it no longer counts. `waiting`: it was answered `input_required`, and its next round may come.
 */
export type Settlement = 'answered' | 'returned' | 'waiting';

/**
 * The end of a call, for rules over time. `unanswered`: it reached the upstream, and no answer of its own was read.
 * `unclear`: its answer does not say whether it acted. `task`: it created a task, whose result will follow. All three
 * count for `never_after` and quotas, and not for `after`. `unreached`: it never reached the upstream.
 */
export type CallOutcome = Settlement | 'task' | 'unclear' | 'unanswered' | 'unreached';

/** The proof that rules over time have judged a call. If it never settles, it stays counted. */
export interface CountedCall {
  /** Names the call in the handles that its answer gives out. */
  readonly id: string;
  /** The approval that it used. */
  readonly approval?: string | undefined;
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
   * @param id Of the call in handles, where something else that it holds has named it.
   */
  settle(outcome: CallOutcome, why?: string, id?: string): void;
}
