/**
 * Approvals: one person allows one call, `docs/approvals.md`.
 *
 * @module
 */

import type { PolicyDenial } from '../../core/model/denial.ts';
import type { Principal } from '../../core/model/principal.ts';

/** The approval that a call needs. */
export interface NeededApproval {
  /** Paths into the policy file, such as `tools.transfer_funds.approval`: of each entry of the call that wants one. */
  readonly rules: readonly string[];
  /** Whether callers may approve their own calls. */
  readonly self: boolean;
  /** How long a request waits, and a denial lasts. */
  readonly waitMs: number;
  /** How long an approval can be used. */
  readonly validMs: number;
  /** JSON Pointers to the arguments that approvers see; undefined: all. */
  readonly shows: readonly string[] | undefined;
  /** The operator's words for the caller. */
  readonly because: string | undefined;
  /** What the policy says of it. */
  readonly text: string;
  /** Differs where an entry differs: a request and an approval end then. */
  readonly identity: string;
  /** Whether the call needs it for certain; false: that depends on arguments that were not recorded. */
  readonly isCertain: boolean;
  /** Whether the policy is in shadow mode: the call passes without one. */
  readonly isShadow: boolean;
  /**
   * Claims of the caller that approvers are compared with, as JSON with the digits of numbers; undefined if the policy
   * names none. Part of what the approval is bound to.
   */
  readonly asker: string | undefined;
  /** Whether a person may approve a call of a caller that has these {@link NeededApproval.asker | claims}. */
  readonly admits: (principal: Principal, asker?: string) => boolean;
  /** The refusal of a call without one. `approval.denied`: no person can approve, for want of a claim. */
  readonly denial: PolicyDenial;
}
