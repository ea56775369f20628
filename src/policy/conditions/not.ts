import type { ConditionDocument } from '../document.ts';
import { rulePath } from '../policy-error.ts';
import { underNot } from '../predicate.ts';
import type { ConditionContext, DenialTemplate, GroupCondition } from './condition.ts';

const matched: DenialTemplate = {
  reason: 'exclusion.matched',
  words: () => ({ detail: 'wanted its conditions not to hold, found that they all do', scope: [] }),
};

/** `not`: a policy does not hold. */
export function compileNot(
  written: ConditionDocument,
  { path, reading, compile }: ConditionContext,
): readonly GroupCondition[] {
  const excluded = compile(written, path, underNot(reading));
  const condition: GroupCondition = {
    kind: 'not',
    rule: rulePath(path),
    parts: [excluded],
    // No scope that a caller gets would help.
    asksFor: 'none',
    wanted: 'not all of these',
    judge: (principal) => (excluded.judge(principal) === 'met' ? 'refused' : 'met'),
    denial: () => matched,
  };
  return [condition];
}
