import type { PolicyReason } from '../../model/reasons.ts';
import { type Condition, isGroup, type Verdict } from '../conditions/condition.ts';
import { type Formula, and, not } from './formula.ts';
import type { Space } from './space.ts';
import { verdictsOn } from './verdicts.ts';

/** One refusal that a policy can give. */
export interface Refusal {
  readonly reason: PolicyReason;
  readonly rule: string;
  readonly when: Formula;
}

/**
 * The refusals of conditions that have a verdict together, as `policyDenial` (`policy/conditions`) chooses among them:
 * the first condition with that verdict decides.
 */
export function refusalsBy(conditions: readonly Condition[], verdict: Verdict, space: Space): readonly Refusal[] {
  const earlier: Formula[] = [];
  return conditions.flatMap((condition) => {
    const when = verdictsOn(condition, space)[verdict];
    const guard = and([...earlier, when]);
    earlier.push(not(when));
    if (guard === false) return [];
    return partsOf(condition, verdict, space).map(({ reason, rule, when: own }) => {
      return { reason, rule, when: and([guard, own]) };
    });
  });
}

function partsOf(condition: Condition, verdict: Verdict, space: Space): readonly Refusal[] {
  const denial = condition.denial(verdict);
  if (denial !== undefined) return [{ reason: denial.reason, rule: condition.rule, when: true }];
  return refusalsBy(isGroup(condition) ? condition.parts : [], verdict, space);
}
