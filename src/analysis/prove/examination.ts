import { approvalsIn, requireKnownParts, rulesOverTime } from './parts.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import type { AllCondition } from '../../core/policy/conditions/groups.ts';
import type { Rules } from '../../core/policy/decide.ts';
import type { GivenApproval } from '../../policy-files/property.ts';
import type { ArgumentCondition } from '../../core/policy/argument.ts';
import type { HistoryRule } from '../../policy-parts/history/rules.ts';
import { planFor } from '../../core/policy/plan.ts';
import { type ExampleCall, isOfKind, type PossibleCall } from './calls.ts';
import { countingOf, type Histories, historiesOf, noHistories } from './over-time.ts';
import { decisionsOn, type PossibleDecision, verdictsOn } from './decisions.ts';
import { and, type Budget, type Formula, holds, not, search, simplest } from './formula.ts';
import { type Given, type Setting, Space, type TargetCondition } from './space.ts';
import { placeOf } from './targets.ts';
import type { MemberPlace } from './json-object.ts';
import type { VariableCondition } from '../../core/policy/variable.ts';
import { Undecidable } from './text-automaton.ts';

/** A call of a caller, as a test file writes it. */
export interface Example {
  readonly given: Given;
  readonly when: ExampleCall;
}

/** The result of a search: found, proved not to exist, or neither. */
type Answer =
  | {
      readonly outcome: 'found';
      readonly example: Example;
      /** For each policy the first rule over time that refuses the example; undefined: all are met. */
      readonly refusing: readonly (HistoryRule | undefined)[];
    }
  | { readonly outcome: 'none' }
  /** Each part that could not be decided, with the reason. */
  | { readonly outcome: 'undecided'; readonly why: readonly string[] };

/** Which callers and which arguments are looked at; default: all of them. */
export interface Described {
  readonly callers?: AllCondition;
  readonly arguments?: readonly ArgumentCondition[];
  readonly variables?: readonly VariableCondition[];
  /** Only calls with an approval, or without one; default: both. */
  readonly approval?: GivenApproval | undefined;
  /** Whether rules over time may refuse a call, as earlier calls make them; default: they are always met. */
  readonly isAfterCalls?: true;
}

/** The decisions of some policies on all calls of one kind, by all callers. */
export interface Examination {
  /** For each policy all that it can decide. */
  readonly decisions: readonly (readonly PossibleDecision[])[];
  /** For each policy what earlier calls may make of its rules over time. */
  readonly histories: readonly Histories[];
  /** Finds an example for which a statement on them holds. */
  readonly find: (goal: Formula) => Answer;
}

/**
 * Examines what policies decide on calls of one kind.
 *
 * @param budget What all searches may do together.
 * @throws {Undecidable} for conditions that cannot be put into classes of values.
 */
export function examine(
  call: PossibleCall,
  policies: readonly Rules[],
  described: Described,
  setting: Setting,
  budget: Budget,
): Examination {
  const { when, kinds } = call;
  const plans = policies.map((rules, index) => planFor(rules, kindAt(kinds, index)));
  const steps = plans.flatMap((plan) => plan.steps);
  for (const plan of plans) requireKnownParts(plan);
  const listed = plans.filter((plan) => !plan.steps.some(({ on }) => on === 'listing'));
  const countings = listed
    .map((plan) => historyKey.inPlan(plan))
    .flatMap((history) => [...(history?.own ?? []), ...(history?.owners ?? [])].map(countingOf));
  const approvals = plans.flatMap(approvalsIn);
  const conditions = [
    ...plans.flatMap((plan) => plan.conditions),
    ...(described.callers === undefined ? [] : [described.callers]),
    ...countings.flatMap(({ owner }) => owner),
    ...approvals.map(({ condition }) => condition),
  ];
  const inArguments = [
    ...steps.flatMap((step) => (step.on === 'argument' ? step.argument : [])),
    ...(described.arguments ?? []),
    ...countings.flatMap(({ countable }) => countable),
    ...countings.flatMap(({ comparable }) => comparable),
    ...approvals.flatMap((approval) => approval.arguments),
  ];
  const asks = approvals.flatMap((approval) => approval.asks);
  const variables = [
    ...steps.flatMap((step) => (step.on === 'variable' ? step.variable : [])),
    ...(described.variables ?? []),
  ];
  const space = new Space(conditions, inArguments, setting, asks, targetsOf(variables, kinds));
  const histories = plans.map((plan) =>
    described.isAfterCalls === true ? historiesOf(rulesOverTime(plan), space) : noHistories,
  );
  const place = steps.find(({ entry }) => entry !== undefined)?.entry?.rule ?? 'policy';
  const within = and([
    space.constraint,
    ...histories.map(({ constraint }) => constraint),
    described.callers === undefined ? true : verdictsOn(described.callers, space).met,
    ...(described.arguments ?? []).map((each) => space.metBy(each)),
    ...(described.variables ?? []).map((each) => space.metByVariable(each)),
    described.approval === undefined || approvalIs(described.approval, space),
  ]);
  /** Classes for which a statement holds; names with a text for each variable first. */
  function simplestFor(goal: Formula): readonly number[] | undefined {
    for (const each of space.hasTargets ? [and([goal, space.isReadable]), goal] : [goal]) {
      const real = search(each, space.variables.real, budget);
      if (real !== undefined) return minimized(each, simplest(real));
    }
    return undefined;
  }
  return {
    histories,
    decisions: plans.map((plan, index) => decisionsOn(plan, space, histories[index] ?? noHistories)),
    find(goal) {
      let wanted = and([goal, within, space.comparable]);
      let isKnown = true;
      try {
        for (let left = when === undefined ? -1 : MAX_COMPARED; left >= 0; left -= 1) {
          const classes = simplestFor(wanted);
          if (classes === undefined) break;
          const values = space.comparedValues(classes);
          const named = values && namedAs(call, policies, space, classes, values);
          if (values === undefined || named === undefined) {
            isKnown = false;
            wanted = and([wanted, space.otherwiseCompared(classes)]);
            continue;
          }
          const found = space.described(classes, values);
          const hasArguments = Object.keys(found.arguments).length > 0;
          return {
            outcome: 'found',
            example: { given: found.given, when: { ...named, ...(hasArguments && { arguments: found.arguments }) } },
            refusing: histories.map(({ refusing }) => refusing(classes)),
          };
        }
        if (!isKnown)
          return { outcome: 'undecided', why: [`${place}: no values are known that compare so, or that it decides`] };
        const assumed = search(wanted, space.variables.all, budget);
        if (assumed === undefined) return { outcome: 'none' };
        const why = space.assumptions(simplest(assumed));
        return {
          outcome: 'undecided',
          why: why.length > 0 ? why : [`${place}: no name that it decides is known`],
        };
      } catch (error) {
        if (!(error instanceof Undecidable)) throw error;
        return { outcome: 'undecided', why: [`${place}: ${error.message}`] };
      }
    },
  };
}

/** The answers that are tried until values are known that are related so. */
const MAX_COMPARED = 40;

/** The conditions on variables, each with what the entries of a kind of calls say of its place. */
function targetsOf(variables: readonly VariableCondition[], kinds: PossibleCall['kinds']): readonly TargetCondition[] {
  const entries = kinds.flatMap((kind) => (kind.entries === undefined || 'reason' in kind.entries ? [] : kind.entries));
  return variables.map((condition) => {
    const place = placeOf(condition);
    const own = entries.filter(({ key }) => key === condition.key).map(({ name }) => place.fixedBy(name));
    return { condition, place, fixed: own.find((each) => each !== undefined) };
  });
}

/** The target of an example, with the texts of its variables; undefined if other entries would decide it. */
function namedAs(
  call: PossibleCall,
  policies: readonly Rules[],
  space: Space,
  classes: readonly number[],
  values: ReadonlyMap<MemberPlace, unknown>,
): PossibleCall['when'] {
  const { when } = call;
  if (!space.hasTargets || when === undefined) return when;
  const key = when.request === undefined ? 'resource' : 'request';
  const name = space.named(when[key] ?? '', classes, values);
  const named = name === undefined ? undefined : { ...when, [key]: name };
  return named !== undefined && isOfKind(named, call, policies) ? named : undefined;
}

function approvalIs(given: GivenApproval, { hasApproval }: Space): Formula {
  return given === 'approved' ? hasApproval : not(hasApproval);
}

function kindAt(kinds: PossibleCall['kinds'], index: number): PossibleCall['kinds'][number] {
  const kind = kinds[index];
  if (kind === undefined) throw new TypeError(`no policy ${index}`);
  return kind;
}

/** Classes for which a statement holds, and none of which can be exchanged for a simpler one. */
function minimized(goal: Formula, from: readonly number[]): readonly number[] {
  const classes = [...from];
  for (let changed = true; changed;) {
    changed = false;
    for (const [index, chosen] of classes.entries()) {
      for (let simpler = 0; simpler < chosen; simpler += 1) {
        if (!holds(goal, classes.with(index, simpler))) continue;
        classes[index] = simpler;
        changed = true;
        break;
      }
    }
  }
  return classes;
}
