import type { CallPlan } from '../../core/policy/plan.ts';
import type { Approval } from '../../policy-parts/approvals/approval.ts';
import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import { innerKey } from '../../policy-parts/inner/key.ts';
import type { HistoryRule } from '../../policy-parts/history/rules.ts';
import { Undecidable } from './text-automaton.ts';

/** @module The parts of the language that proofs know. */

const known: ReadonlySet<object> = new Set([historyKey, approvalsKey, innerKey]);

/** @throws {Undecidable} for a plan with a part that proofs do not know. */
export function requireKnownParts({ parts }: Pick<CallPlan, 'parts'>): void {
  for (const key of parts.keys()) if (!known.has(key)) throw new Undecidable(`the part ${key.name}`);
}

/** The rules over time that a call must meet. */
export function rulesOverTime(plan: CallPlan): readonly HistoryRule[] {
  return historyKey.inPlan(plan)?.own ?? [];
}

/** The approvals of the entries of a call. */
export function approvalsIn(plan: CallPlan): readonly Approval[] {
  return approvalsKey.inPlan(plan)?.approvals ?? [];
}
