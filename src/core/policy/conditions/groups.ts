import {
  type Condition,
  type DenialTemplate,
  graver,
  type GroupCondition,
  policyDenial,
  type Verdict,
} from './condition.ts';

/** Conditions that must all hold. One of them refuses, never the group. */
export interface AllCondition extends GroupCondition {
  readonly kind: 'all';
}

/** The condition that all parts hold. */
export function allOf(rule: string, parts: readonly Condition[]): AllCondition {
  return {
    kind: 'all',
    rule,
    parts,
    asksFor: 'every part',
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

/** The verdicts that the caller can mend, the easiest last. */
const order: readonly Verdict[] = ['lifetime', 'authentication', 'scope'];

/**
 * The condition that at least one part holds. If none does, its verdict is `scope`, `authentication` or `lifetime` if
 * an alternative has that verdict, in this order, else `refused`.
 */
export function anyOf(rule: string, parts: readonly Condition[]): GroupCondition {
  const exhausted: DenialTemplate = {
    reason: 'alternatives.exhausted',
    words(principal) {
      const details = parts.map((part) => policyDenial([part], part.judge(principal), principal).detail);
      return { detail: `none of ${parts.length} alternatives holds: ${details.join('; ')}`, scope: [] };
    },
  };
  return {
    kind: 'any',
    rule,
    parts,
    asksFor: 'decisive part',
    judge(principal) {
      let verdict: Verdict = 'refused';
      for (const { judge } of parts) {
        const other = judge(principal);
        if (other === 'met') return other;
        if (order.indexOf(other) > order.indexOf(verdict)) verdict = other;
      }
      return verdict;
    },
    // A client can get the scopes, or the sign-in, of one alternative.
    denial: (verdict) => (verdict === 'scope' || verdict === 'authentication' ? undefined : exhausted),
  };
}

const matched: DenialTemplate = {
  reason: 'exclusion.matched',
  words: () => ({ detail: 'wanted its conditions not to hold, found that they all do', scope: [] }),
};

/** The condition that its part does not hold. */
export function notOf(rule: string, excluded: Condition): GroupCondition {
  return {
    kind: 'not',
    rule,
    parts: [excluded],
    // No scope that a caller gets would help.
    asksFor: 'none',
    judge: (principal) => (excluded.judge(principal) === 'met' ? 'refused' : 'met'),
    denial: () => matched,
  };
}
