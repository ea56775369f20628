import type { ConditionDocument } from '../document.ts';
import { rulePath } from '../policy-error.ts';
import {
  type Condition,
  type ConditionContext,
  type DenialTemplate,
  type GroupCondition,
  policyDenial,
  type Verdict,
} from './condition.ts';

/** What the caller can mend comes first, the easiest of it before the rest. */
const order: readonly Verdict[] = ['met', 'scope', 'authentication', 'lifetime', 'refused'];

/**
 * `any`: at least one policy of a list holds. If none does, its verdict is `scope`, `authentication` or `lifetime` if
 * an alternative has that verdict, in this order, else `refused`.
 */
export function compileAny(
  written: readonly ConditionDocument[],
  { path, reading, compile }: ConditionContext,
): readonly GroupCondition[] {
  const parts = written.map((document, index) => compile(document, [...path, index], reading));
  return [anyOf(rulePath(path), parts)];
}

/** The condition that at least one part holds. */
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
    wanted: 'one of these',
    judge(principal) {
      let verdict: Verdict = 'refused';
      for (const { judge } of parts) {
        const other = judge(principal);
        if (other === 'met') return other;
        if (order.indexOf(other) < order.indexOf(verdict)) verdict = other;
      }
      return verdict;
    },
    // A client can get the scopes, or the sign-in, of one alternative.
    denial: (verdict) => (verdict === 'scope' || verdict === 'authentication' ? undefined : exhausted),
  };
}
