import { type Decision, denialIn, type Explanation, type Policy } from '../../core/model/policy.ts';

/** A test as it was decided. */
export interface Decided {
  readonly decision: Decision;
  readonly conditions: readonly Explanation[];
}

/** A rule that tests do not decide, and what they lack. */
export interface Gap {
  readonly rule: string;
  readonly missing: string;
}

/**
 * The rules of a policy that no test decides. Tests must pass each condition once and be denied by it once, call each
 * listed entry once, and call something that is not listed once.
 */
export function gapsOf(policy: Policy, tests: readonly Decided[]): readonly Gap[] {
  const allowing = new Set<string>();
  const denying = new Set<string>();
  const conditions = new Map<string, Explanation['kind']>();
  for (const { decision, conditions: roots } of tests) {
    const denial = denialIn(decision);
    for (const { rule, kind, outcome } of roots.flatMap(flat)) {
      conditions.set(rule, kind);
      if (denial === undefined && outcome === 'holds') allowing.add(rule);
      if (denial !== undefined && outcome !== 'holds' && isWithin(rule, groupOf(denial.rule))) denying.add(rule);
    }
  }
  return policy.rules.flatMap((rule) => {
    const listing = /^(?:tools|resources|prompts|methods)$/.test(rule);
    if (listing) return denying.has(rule) ? [] : [{ rule, missing: 'no test calls what is not listed' }];
    const isEntry = conditions.get(rule) === 'listed' || !conditions.has(rule);
    if (!allowing.has(rule)) return [{ rule, missing: 'no test passes it' }];
    return isEntry || denying.has(rule) ? [] : [{ rule, missing: 'no test is denied by it' }];
  });
}

function flat(explanation: Explanation): readonly Explanation[] {
  return [explanation, ...explanation.parts.flatMap(flat)];
}

/** The `any` that a rule is an alternative of, else the rule: a denial names one alternative for all of them. */
function groupOf(rule: string): string {
  return /^((?:.*?\.)?any)\[/.exec(rule)?.[1] ?? rule;
}

/** Whether a denial by `group` decides `rule`: it names the rule itself, or the group of which it is an alternative. */
function isWithin(rule: string, group: string): boolean {
  return rule === group || rule.startsWith(`${group}[`) || rule.startsWith(`${group}.`);
}
