/** @module Explanations: a decision stops at the first step that denies, and an explanation walks all of them. */

import { describeValue } from '../../core/lib/json/describe-value.ts';
import { argumentsOf, type Attempt, type Explanation, type Plan, unknownArguments } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import { type ArgumentCondition, argumentDenial } from '../../core/policy/argument.ts';
import { type Condition, type GroupCondition, isGroup } from '../../core/policy/conditions/condition.ts';
import type { Entry } from '../../core/policy/entry.ts';
import { unlistedInWords } from '../../core/policy/listing.ts';
import type { Step } from '../../core/policy/part.ts';
import { CallPlan, otherMemberOf } from '../../core/policy/plan.ts';
import { describeFound, wantedBy } from '../../core/policy/predicate.ts';
import { isVariableMet, targetAt, type VariableCondition, variableValue } from '../../core/policy/variable.ts';
import { JoinedPlan, type PlannedCall } from '../../policy-parts/inner/joined-plan.ts';

/**
 * Every condition that applies to a call, with its outcome, even after the decision is clear. Never throws.
 *
 * @param plan That of the call, by a policy.
 */
export function explain(plan: Plan, principal: Principal, call: Attempt): readonly Explanation[] {
  if (plan instanceof JoinedPlan) {
    const { outer, inner } = plan;
    return [
      ...explain(outer.plan, principal, outer.attempt),
      ...inner.flatMap((each) => explainInner(each, principal)),
    ];
  }
  if (!(plan instanceof CallPlan)) throw new TypeError('the plan is of no compiled policy');
  const { steps } = plan;
  return steps.flatMap((step) => {
    const { entry } = step;
    if (entry === undefined) return explainStep(step, principal, call);
    if (step.on !== 'condition') return [];
    const ofTarget = steps.filter(({ on, entry: own }) => own === entry && on !== 'condition');
    return explainEntry(
      entry,
      [step, ...ofTarget].flatMap((part) => explainStep(part, principal, call)),
    );
  });
}

/** The conditions on an inner call, besides those of the policy itself, which the call has met or not. */
function explainInner({ plan, attempt, tool }: PlannedCall, principal: Principal): readonly Explanation[] {
  const [ofPolicy] = plan.conditions;
  const found = `the inner call of ${describeValue(tool)}`;
  const conditions = explain(plan, principal, attempt).slice(ofPolicy?.parts.length);
  return conditions.map((each) => (each.kind === 'listed' ? Object.assign({}, each, { found }) : each));
}

function explainEntry({ rule, name }: Entry, parts: readonly Explanation[]): Explanation {
  const outcomes = new Set(parts.map(({ outcome }) => outcome));
  const outcome = (['error', 'fails', 'unknown'] as const).find((each) => outcomes.has(each)) ?? 'holds';
  return { rule, kind: 'listed', outcome, wanted: 'all of its conditions', found: describeValue(name), parts };
}

function explainStep(step: Step, principal: Principal, call: Attempt): readonly Explanation[] {
  switch (step.on) {
    case 'condition':
      return step.condition.parts.map((part) => explainCondition(part, principal));
    case 'listing': {
      const { unlisted } = step;
      return [{ rule: unlisted.rule, kind: 'listed', outcome: 'fails', ...unlistedInWords(unlisted), parts: [] }];
    }
    case 'other member':
      return explainOtherMember(step.entry, call);
    case 'argument':
      return [explainArgument(step.argument, principal, call)];
    case 'variable':
      return [explainVariable(step.variable, principal, targetAt(call, step.at))];
    case 'part':
      return step.explain(principal, call);
  }
}

const wantedOfGroups: Readonly<Record<GroupCondition['kind'], string>> = {
  all: 'all of these',
  any: 'one of these',
  not: 'not all of these',
};

function explainCondition(condition: Condition, principal: Principal): Explanation {
  const { rule, kind, judge } = condition;
  const outcome = outcomeOf(() => judge(principal) === 'met');
  if (!isGroup(condition)) return { rule, kind, outcome, ...condition.words(principal), parts: [] };
  const parts = condition.parts.map((part) => explainCondition(part, principal));
  const holding = parts.filter((part) => part.outcome === 'holds').length;
  const wanted = wantedOfGroups[condition.kind];
  return { rule, kind, outcome, wanted, found: `${holding} of ${parts.length} hold`, parts };
}

function outcomeOf(holds: () => boolean): Explanation['outcome'] {
  try {
    return holds() ? 'holds' : 'fails';
  } catch {
    return 'error';
  }
}

function explainOtherMember({ rule }: Entry, call: Attempt): readonly Explanation[] {
  const reads = otherMemberOf(call);
  if (reads === undefined) return [];
  const wanted = 'no member beside name and arguments';
  return [{ rule, kind: 'argument', reads, outcome: 'fails', wanted, found: reads, parts: [] }];
}

function explainArgument(condition: ArgumentCondition, principal: Principal, call: Attempt): Explanation {
  const { rule, pointer, read, predicates } = condition;
  const wanted = `argument ${pointer}: ${wantedBy(predicates, { caller: principal, show: describeValue })}`;
  const base = { rule, kind: 'argument', reads: pointer, wanted, parts: [] } as const;
  const args = argumentsOf(call);
  if (args === unknownArguments) return { ...base, outcome: 'unknown', found: 'unknown' };
  return {
    ...base,
    outcome: outcomeOf(() => argumentDenial(condition, principal, call) === undefined),
    found: describeFound(
      safely(() => read(args)),
      predicates,
      principal,
    ),
  };
}

function safely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function explainVariable(condition: VariableCondition, principal: Principal, target: string | undefined): Explanation {
  const { rule, name, predicates } = condition;
  return {
    rule,
    kind: 'variable',
    reads: name,
    wanted: `variable ${name}: ${wantedBy(predicates, { caller: principal, show: describeValue })}`,
    outcome: outcomeOf(() => isVariableMet(condition, principal, target)),
    found: foundIn(condition, principal, target),
    parts: [],
  };
}

function foundIn({ predicates, textsIn }: VariableCondition, principal: Principal, target: string | undefined): string {
  try {
    const texts = target === undefined ? [] : textsIn(target);
    const found = texts.map((text) => {
      const value = variableValue(text);
      if (value === undefined) return `${describeValue(text)}, which does not decode to one segment`;
      return describeFound(value, predicates, principal);
    });
    return found.length === 0 ? 'nothing' : found.join(' or ');
  } catch {
    return 'too many readings';
  }
}
