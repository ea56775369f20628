import type { PolicyReason } from '../../model/reasons.ts';
import type { AllCondition, Condition } from '../condition.ts';
import type { Verdict } from '../verdict.ts';
import { type Formula, and, not } from './formula.ts';
import type { Space } from './space.ts';
import { verdictsOn } from './verdicts.ts';

/** One refusal that a policy can give. */
export interface Refusal {
  readonly reason: PolicyReason;
  readonly rule: string;
  readonly when: Formula;
}

const reasons = {
  scope: 'scope.insufficient',
  claim: 'claim.denied',
  lifetime: 'lifetime.exceeded',
  not: 'exclusion.matched',
  any: 'alternatives.exhausted',
} as const satisfies Readonly<Record<Exclude<Condition, AllCondition>['kind'], PolicyReason>>;

/**
 * The refusals of conditions that have a verdict together, as `policyDenial` (`policy/denial.ts`) chooses among them:
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
  if (condition.kind === 'all') return refusalsBy(condition.conditions, verdict, space);
  if (condition.kind === 'any' && verdict === 'scope') return refusalsBy(condition.alternatives, verdict, space);
  return [{ reason: reasons[condition.kind], rule: condition.rule, when: true }];
}
