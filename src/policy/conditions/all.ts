import type { ConditionDocument } from '../document.ts';
import { rulePath } from '../policy-error.ts';
import { type Condition, type ConditionContext, type GroupCondition, graver, type Verdict } from './condition.ts';

/** Conditions that must all hold. One of them refuses, never the group. */
export interface AllCondition extends GroupCondition {
  readonly kind: 'all';
}

/** `all`: every policy of a list holds. */
export function compileAll(
  written: readonly ConditionDocument[],
  { path, reading, compile }: ConditionContext,
): readonly AllCondition[] {
  const parts = written.map((document, index) => compile(document, [...path, index], reading));
  return [allOf(rulePath(path), parts)];
}

/** The condition that all parts hold. */
export function allOf(rule: string, parts: readonly Condition[]): AllCondition {
  return {
    kind: 'all',
    rule,
    parts,
    asksFor: 'every part',
    wanted: 'all of these',
    judge(principal) {
      let verdict: Verdict = 'met';
      for (const { judge } of parts) {
        const judged = judge(principal);
        if (judged === 'refused') return judged;
        verdict = graver(verdict, judged);
      }
      return verdict;
    },
    denial: () => undefined,
  };
}
