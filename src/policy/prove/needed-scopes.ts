import { type Condition, type GroupCondition, isGroup, verdicts } from '../conditions/condition.ts';
import { type Formula, and, not, or } from './formula.ts';
import type { Space } from './space.ts';
import { type Verdicts, verdictsOn } from './verdicts.ts';

/** One place of a policy that names a scope, and when a challenge includes it. */
interface Mention {
  readonly scope: string;
  readonly when: Formula;
}

/** Where conditions name scopes, in the order of a challenge, as `neededScopes` (`policy/conditions`) collects them. */
export function mentionsIn(conditions: readonly Condition[], space: Space): readonly Mention[] {
  return conditions.flatMap((condition): readonly Mention[] => {
    if (!isGroup(condition)) return condition.reads.scopes.map((scope) => ({ scope, when: true }));
    if (condition.asksFor === 'none') return [];
    return condition.asksFor === 'every part'
      ? mentionsIn(condition.parts, space)
      : mentionsInDecisive(condition, space);
  });
}

/** The scopes of the first part with the verdict of its group. */
function mentionsInDecisive(group: GroupCondition, space: Space): readonly Mention[] {
  const whole = verdictsOn(group, space);
  const earlier: Verdicts[] = [];
  return group.parts.flatMap((part) => {
    const own = verdictsOn(part, space);
    const chosen = or(
      verdicts.map((verdict) => and([whole[verdict], own[verdict], ...earlier.map((each) => not(each[verdict]))])),
    );
    earlier.push(own);
    return mentionsIn([part], space).map(({ scope, when }) => ({ scope, when: and([chosen, when]) }));
  });
}

/** Holds if a challenge names exactly these scopes, in this order. */
export function challengeIs(wanted: readonly string[], mentions: readonly Mention[]): Formula {
  // For each length, whether the challenge so far is that much of what is wanted.
  let matched: readonly Formula[] = [true, ...wanted.map(() => false)];
  for (const { scope, when } of mentions) {
    // The length of a challenge that ends with this scope; 0: it is not wanted at all.
    const end = wanted.indexOf(scope) + 1;
    matched = matched.map((before, length) => {
      if (end === 0 || end > length) return and([before, not(when)]);
      // A scope that the challenge has already changes nothing.
      return end < length ? before : or([before, and([matched[length - 1] ?? false, when])]);
    });
  }
  return matched.at(-1) ?? true;
}
