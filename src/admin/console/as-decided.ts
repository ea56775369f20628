import type { DecisionRecord } from '../../model/decision.ts';
import { isReasonBy } from '../../model/reasons.ts';
import type { Explanation } from '../../model/policy.ts';

/**
 * Conditions with the outcomes that a decision tells. Arguments and earlier calls are not kept, but a call that was
 * allowed met all conditions on them, and a refusal names the one that it did not meet.
 */
export function asDecided(conditions: readonly Explanation[], decision: DecisionRecord): readonly Explanation[] {
  const refusing = conditions.findIndex(({ kind, rule }) => kind === 'history' && rule === decision.rule);
  return conditions.map((each, index) =>
    each.kind === 'history' ? overTime(each, decision, Math.sign(index - refusing)) : byArguments(each, decision),
  );
}

/** @param order Of the rule against the one that refused: it is judged before (-1), is that one (0), or later (1). */
function overTime(condition: Explanation, { allow, reason, detail }: DecisionRecord, order: number): Explanation {
  if (condition.outcome !== 'unknown') return condition;
  const isRefusedOverTime = reason !== undefined && isReasonBy('history', reason);
  if ((allow && reason === undefined) || reason === 'history.full' || (isRefusedOverTime && order < 0)) {
    return { ...condition, outcome: 'holds', found: 'not kept; this rule was met' };
  }
  if (!isRefusedOverTime) return { ...condition, found: 'not kept; the call was refused for another reason' };
  if (order > 0) return { ...condition, found: 'not kept; another rule over time refused the call first' };
  return { ...condition, outcome: 'fails', found: detail?.split(', found ').at(-1) ?? '' };
}

function byArguments(condition: Explanation, decision: DecisionRecord): Explanation {
  const parts = condition.parts.map((part) => byArguments(part, decision));
  if (condition.outcome !== 'unknown') return { ...condition, parts };
  const found = 'not kept';
  if (parts.length > 0) return { ...condition, parts, outcome: outcomeOf(condition, parts) };
  if (decision.allow && decision.reason === undefined) return { ...condition, outcome: 'holds', found };
  const isCause =
    (decision.reason === 'argument.denied' || decision.reason === 'approval.required') &&
    decision.rule === condition.rule;
  return isCause ? { ...condition, outcome: 'fails', found } : { ...condition, found };
}

/** The outcome of a group, from its parts. */
function outcomeOf({ kind, outcome }: Explanation, parts: readonly Explanation[]): Explanation['outcome'] {
  if (kind !== 'listed' && kind !== 'all') return outcome;
  if (parts.some((part) => part.outcome === 'fails')) return 'fails';
  return parts.every((part) => part.outcome === 'holds') ? 'holds' : outcome;
}
