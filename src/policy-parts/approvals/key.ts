import { type Attempt, PartKey } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { DocumentPath } from '../../core/policy/document.ts';
import type { PlanPart } from '../../core/policy/part.ts';
import type { Approval } from './approval.ts';
import type { NeededApproval } from './needed-approval.ts';

/** The approvals of a policy. */
export interface PolicyApprovals {
  /** Paths in the policy file to each `by` that no claim restricts, and that is not an explicit `{}`. */
  readonly openApprovers: readonly DocumentPath[];
  /** The approval by its {@link NeededApproval.rules}; undefined if one of them is not a rule of this policy. */
  at(rules: readonly string[]): NeededApproval | undefined;
}

/** The approvals of calls of one kind. */
export interface PlanApprovals extends PlanPart {
  /** Those of the entries of such a call. */
  readonly approvals: readonly Approval[];
  /** The approval that a call needs which the policy allows; undefined if it needs none. */
  needed(principal: Principal, attempt: Attempt): NeededApproval | undefined;
}

/** Approvals of calls by persons: `approval` of entries. */
export const approvalsKey = new PartKey<PolicyApprovals, PlanApprovals>('approvals');
