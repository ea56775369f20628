import { approvalsIn } from './parts.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import type { PolicyReason } from '../../core/model/reasons.ts';
import {
  type Condition,
  type GroupCondition,
  isGroup,
  type LeafCondition,
  type Verdict,
  verdicts as everyVerdict,
} from '../../core/policy/conditions/condition.ts';
import type { Approval } from '../../policy-parts/approvals/approval.ts';
import type { Predicate } from '../../core/policy/predicate.ts';
import type { CallPlan } from '../../core/policy/plan.ts';
import type { Step } from '../../core/policy/part.ts';
import { countingOf, type Histories } from './over-time.ts';
import { type Formula, and, not, or } from './formula.ts';
import type { Space } from './space.ts';
import { Undecidable } from './text-automaton.ts';
import { onClaims } from './actors.ts';

interface PossibleRefusal {
  readonly reason: PolicyReason;
  /** The rule that refuses. */
  readonly rule: string;
  readonly when: Formula;
}

/** A decision that a policy can make on a kind of calls. */
export interface PossibleDecision {
  /** Undefined: the call is allowed. */
  readonly reason: PolicyReason | undefined;
  /** The rule that refuses it. */
  readonly rule: string | undefined;
  /** When it is made. Of all decisions on a kind of calls, exactly one is. */
  readonly when: Formula;
  /** Where the scopes of the challenge come from; empty for a decision without one. */
  readonly asked: readonly Mention[];
}

/** A place of a policy that names a scope, and when a challenge includes it. */
interface Mention {
  readonly scope: string;
  readonly when: Formula;
}

/** Every decision that a plan and rules over time can make, in the order of the steps. */
export function decisionsOn(plan: CallPlan, space: Space, histories: Histories): readonly PossibleDecision[] {
  const { steps, conditions } = plan;
  const decisions: PossibleDecision[] = [];
  const guards: Formula[] = [];
  const tried = (trials: readonly Trial[]): void => {
    for (const { refusals, passed } of trials) {
      const guard = and(guards);
      for (const refusal of within(guard, refusals)) decisions.push({ ...refusal, asked: [] });
      guards.push(passed);
    }
  };
  for (const step of steps) {
    tried(trialsOf(step, space));
    if (step.on === 'listing') return decisions;
  }
  tried(trialsOverTime(plan, space));
  // The verdicts of a single step exclude each other without a guard.
  const guard = steps.length === 1 || and(guards);
  const { met, scope, authentication, lifetime } = verdictsOnAll(
    conditions.map((condition) => verdictsOn(condition, space)),
  );
  const granted = and([guard, met, histories.met]);
  const needs = approvalsIn(plan).map((approval) => {
    const when = needsIn(approval, space);
    return { rule: approval.rule, when, isHopeless: and([when, not(canBeApproved(approval, space))]) };
  });
  const lacking = not(space.hasApproval);
  const hasHope = not(or(needs.map(({ isHopeless }) => isHopeless)));
  const isApproved = and([hasHope, or([space.hasApproval, not(or(needs.map(({ when }) => when)))])]);
  decisions.push({ reason: undefined, rule: undefined, when: and([granted, isApproved]), asked: [] });
  for (const [index, { rule, when, isHopeless }] of needs.entries()) {
    const earlier = needs.slice(0, index);
    const required = and([granted, hasHope, lacking, when, ...earlier.map((each) => not(each.when))]);
    decisions.push({ reason: 'approval.required', rule, when: required, asked: [] });
    const denied = and([granted, isHopeless, ...earlier.map((each) => not(each.isHopeless))]);
    decisions.push({ reason: 'approval.denied', rule, when: denied, asked: [] });
  }
  for (const refusal of within(and([guard, met]), histories.refusals)) decisions.push({ ...refusal, asked: [] });
  const asked = mentionsIn(conditions, space);
  const forScopes = within(and([guard, scope]), refusalsBy(conditions, 'scope', space));
  for (const refusal of forScopes) decisions.push({ ...refusal, asked });
  const forSignIn = within(and([guard, authentication]), refusalsBy(conditions, 'authentication', space));
  // The challenge for a sign-in names the scopes only where one is missing too.
  const isScopeMissing = or(asked.map((mention) => and([mention.when, not(space.holds(mention.scope))])));
  const alsoAsked = asked.map((mention) => ({ scope: mention.scope, when: and([mention.when, isScopeMissing]) }));
  for (const refusal of forSignIn) decisions.push({ ...refusal, asked: alsoAsked });
  const forLifetime = within(and([guard, lifetime]), refusalsBy(conditions, 'lifetime', space));
  for (const refusal of forLifetime) decisions.push({ ...refusal, asked: [] });
  return decisions;
}

/** Refusals of a step that is only tried where a guard holds. */
function within(guard: Formula, refusals: readonly PossibleRefusal[]): readonly PossibleRefusal[] {
  return refusals.map(({ reason, rule, when }) => ({ reason, rule, when: and([guard, when]) }));
}

/** A part of a step: how it refuses, and when it does not. */
interface Trial {
  readonly refusals: readonly PossibleRefusal[];
  readonly passed: Formula;
}

function trialsOf(step: Step, space: Space): readonly Trial[] {
  switch (step.on) {
    case 'condition': {
      const { refused } = verdictsOn(step.condition, space);
      return [{ refusals: within(refused, refusalsBy([step.condition], 'refused', space)), passed: not(refused) }];
    }
    case 'listing': {
      const { reason, rule } = step.unlisted;
      return [{ refusals: [{ reason, rule, when: true }], passed: false }];
    }
    case 'argument':
      return [unless(space.metBy(step.argument), 'argument.denied', step.argument.rule)];
    case 'variable':
      return [unless(space.metByVariable(step.variable), 'variable.denied', step.variable.rule)];
    // Calls of examples have no other member. Parts come after all others: see below.
    case 'other member':
    case 'part':
      return [];
  }
}

/** The steps of rules over time: a call needs an owner, and values that can be counted. */
function trialsOverTime(plan: CallPlan, space: Space): readonly Trial[] {
  const trials: Trial[] = [];
  const history = historyKey.inPlan(plan);
  if (history === undefined) return trials;
  const { own, owners } = history;
  for (const rule of [...own, ...owners]) {
    for (const condition of countingOf(rule).owner)
      trials.push(unless(verdictsOn(condition, space).met, 'claim.denied', rule.rule));
    if (!own.includes(rule)) continue;
    for (const condition of countingOf(rule).countable)
      trials.push(unless(space.metBy(condition), 'argument.denied', rule.rule));
  }
  return trials;
}

/** What a condition on approvers can be, by what claims of the caller can be compared, as `approval.ts` says. */
interface Possibility {
  readonly canHold: Formula;
  readonly canFail: Formula;
}

/** As `approval.ts` says: what does not depend on the caller is not refused for the caller. */
function canBeApproved({ by, asks }: Approval, space: Space): Formula {
  return asks.length === 0 || possibilityOf(by, space).canHold;
}

function possibilityOf(condition: Condition, space: Space): Possibility {
  if (!isGroup(condition)) {
    return allPossible(
      condition.reads.claims.flatMap(({ predicates }) => predicates.map((each) => possible(each, space))),
    );
  }
  const parts = condition.parts.map((part) => possibilityOf(part, space));
  if (condition.kind === 'all') return allPossible(parts);
  return opposite(allPossible(condition.kind === 'any' ? parts.map(opposite) : parts));
}

function possible({ operand, test }: Predicate, space: Space): Possibility {
  if (operand.kind === 'not') return opposite(allPossible(operand.excluded.map((each) => possible(each, space))));
  if (operand.kind !== 'claims') return { canHold: true, canFail: true };
  const asked = operand.claims.filter(({ of }) => of === 'asker');
  const isOpen = and(asked.map((claim) => space.isUsable(claim, operand)));
  const holds = test(undefined);
  return { canHold: or([isOpen, holds]), canFail: or([isOpen, !holds]) };
}

function allPossible(parts: readonly Possibility[]): Possibility {
  return { canHold: and(parts.map(({ canHold }) => canHold)), canFail: or(parts.map(({ canFail }) => canFail)) };
}

function opposite({ canHold, canFail }: Possibility): Possibility {
  return { canHold: canFail, canFail: canHold };
}

function needsIn({ condition, arguments: inArguments }: Approval, space: Space): Formula {
  return and([verdictsOn(condition, space).met, ...inArguments.map((each) => space.metBy(each))]);
}

function unless(met: Formula, reason: PolicyReason, rule: string): Trial {
  return { refusals: [{ reason, rule, when: not(met) }], passed: met };
}

/**
 * The refusals of conditions that have a verdict together, as `policyDenial` (`policy/conditions`) chooses among them:
 * the first condition with that verdict decides.
 */
function refusalsBy(conditions: readonly Condition[], verdict: Verdict, space: Space): readonly PossibleRefusal[] {
  const earlier: Formula[] = [];
  return conditions.flatMap((condition) => {
    const when = verdictsOn(condition, space)[verdict];
    const guard = and([...earlier, when]);
    earlier.push(not(when));
    if (guard === false) return [];
    const denial = condition.denial(verdict);
    if (denial !== undefined) return [{ reason: denial.reason, rule: condition.rule, when: guard }];
    return within(guard, refusalsBy(isGroup(condition) ? condition.parts : [], verdict, space));
  });
}

/** For each verdict on a condition, when it is given. Exactly one of them is. */
type Verdicts = Readonly<Record<Verdict, Formula>>;

/** The verdicts in each space: parts of formulas are shared. */
const known = new WeakMap<Space, Map<Condition, Verdicts>>();

/** When a condition has which verdict. */
export function verdictsOn(condition: Condition, space: Space): Verdicts {
  const inSpace = known.get(space) ?? new Map<Condition, Verdicts>();
  known.set(space, inSpace);
  const verdicts = inSpace.get(condition) ?? verdictsIn(condition, space);
  inSpace.set(condition, verdicts);
  return verdicts;
}

const groups: Readonly<Record<GroupCondition['kind'], (parts: readonly Verdicts[]) => Verdicts>> = {
  all: verdictsOnAll,
  any: verdictsOnAny,
  not: verdictsOnNot,
};

function verdictsIn(condition: Condition, space: Space): Verdicts {
  if (isGroup(condition)) return groups[condition.kind](condition.parts.map((part) => verdictsOn(part, space)));
  const met = metIn(condition, space);
  return { ...never, met, [condition.unmet]: not(met) };
}

function metIn(leaf: LeafCondition, space: Space): Formula {
  const { actors } = leaf.reads;
  if (actors === undefined) return space.met(leaf);
  const condition = onClaims(actors);
  if (condition === undefined) throw new Undecidable(`${leaf.rule}, which compares with a claim`);
  return verdictsOn(condition, space).met;
}

const never: Omit<Verdicts, 'met'> = {
  lifetime: false,
  scope: false,
  authentication: false,
  refused: false,
};

function verdictsOnAll(parts: readonly Verdicts[]): Verdicts {
  const withoutRefusal = parts.map(({ refused }) => not(refused));
  return {
    met: and(parts.map(({ met }) => met)),
    lifetime: and([
      ...parts.map(({ met, lifetime }) => or([met, lifetime])),
      or(parts.map(({ lifetime }) => lifetime)),
    ]),
    scope: and([
      ...withoutRefusal,
      ...parts.map(({ authentication }) => not(authentication)),
      or(parts.map(({ scope }) => scope)),
    ]),
    authentication: and([...withoutRefusal, or(parts.map(({ authentication }) => authentication))]),
    refused: or(parts.map(({ refused }) => refused)),
  };
}

/** `met` if an alternative is, else `scope` or `lifetime` if one is. */
function verdictsOnAny(parts: readonly Verdicts[]): Verdicts {
  return {
    met: or(parts.map(({ met }) => met)),
    lifetime: and([...parts.map(({ lifetime, refused }) => or([lifetime, refused])), or(parts.map((p) => p.lifetime))]),
    scope: and([...parts.map(({ met }) => not(met)), or(parts.map(({ scope }) => scope))]),
    authentication: and([
      ...parts.map(({ met, scope }) => not(or([met, scope]))),
      or(parts.map(({ authentication }) => authentication)),
    ]),
    refused: and(parts.map(({ refused }) => refused)),
  };
}

function verdictsOnNot(parts: readonly Verdicts[]): Verdicts {
  const met = and(parts.map((part) => part.met));
  return { ...never, met: not(met), refused: met };
}

/** Where conditions name scopes, in the order of a challenge, as `neededScopes` (`policy/conditions`) collects them. */
function mentionsIn(conditions: readonly Condition[], space: Space): readonly Mention[] {
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
      everyVerdict.map((verdict) => and([whole[verdict], own[verdict], ...earlier.map((each) => not(each[verdict]))])),
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
