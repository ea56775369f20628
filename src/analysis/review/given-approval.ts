import type { Decision } from '../../core/model/policy.ts';
import type { NeededApproval } from '../../policy-parts/approvals/needed-approval.ts';
import type { GivenApproval } from '../../policy-files/property.ts';

/**
 * A decision, where it is known whether the call has an approval. The last word: a call that is refused for something
 * else does not ask for one.
 */
export function decisionWith(
  given: GivenApproval,
  decision: Decision,
  approval: () => NeededApproval | undefined,
): Decision {
  // Whether a refused call needs one may be beyond judging, and does not matter.
  const isOpen = decision.allow && decision.shadow === undefined;
  const needed = isOpen ? approval() : undefined;
  if (!isOpen || needed?.isCertain !== true) return decision;
  const { denial, isShadow } = needed;
  if (given === 'approved' && denial.reason === 'approval.required') return decision;
  return isShadow ? { ...decision, shadow: denial } : { allow: false, rule: denial.rule, denial };
}
