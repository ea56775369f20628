import { type PolicyReason, type Reason, type ReasonBy, refusalOf, refusals } from '../../core/model/reasons.ts';
import type { PolicyPart } from '../../core/model/refusal.ts';

/** The reasons of a policy's denials, in the order of the table. */
export const policyReasons: readonly PolicyReason[] = (Object.keys(refusals) as Reason[]).filter(isPolicyReason);

/** Whether a policy refuses for this reason. */
export function isPolicyReason(reason: string): reason is PolicyReason {
  return isReason(reason) && refusalOf(reason).by !== undefined;
}

/** Whether a part of a policy refuses for this reason. */
export function isReasonBy<Part extends PolicyPart>(part: Part, reason: string): reason is ReasonBy<Part> {
  return isReason(reason) && refusalOf(reason).by === part;
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(refusals, text);
}
