/**
 * @module Decides properties of policies exactly. The compiled policy and the compiled property become one statement on
 * classes of values (`space.ts`, `decisions.ts`). A search (`formula.ts`) finds a caller and a call for which it holds,
 * or proves that there are none. `docs/internals/adr/` says why it is our own.
 */

import { rulesOverTime } from './parts.ts';
import { listedKinds } from '../../core/model/mcp.ts';
import type { EarlierCall } from '../../policy-files/policy-tests.ts';
import { type Attempt, type Decision, denialIn, type Policy } from '../../core/model/policy.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import { refusalOf } from '../../core/model/reasons.ts';
import type { Principal } from '../../core/model/principal.ts';
import { compiledRules } from '../../core/policy/compile.ts';
import type { HistoryRule } from '../../policy-parts/history/rules.ts';
import { planFor } from '../../core/policy/plan.ts';
import { type Property, expectedReasons, isExpected } from '../../policy-files/property.ts';
import { callsIn, type ExampleCall, type PossibleCall } from './calls.ts';
import { callsThrough, wrapped, wrapperOf } from './wrappers.ts';
import type { Wrapper } from '../../policy-parts/inner/inner-calls.ts';
import { challengeIs, type PossibleDecision } from './decisions.ts';
import { earlierCalls } from './over-time.ts';
import { type Described, type Example, examine } from './examination.ts';
import { type Budget, type Formula, and, not, or } from './formula.ts';
import type { Setting } from './space.ts';
import { isVariableMet } from '../../core/policy/variable.ts';
import { Undecidable } from './text-automaton.ts';

/** The result of proving a property. */
export type Proof =
  /** With an example of each kind of calls that the property describes, and of each rule that refuses one. */
  | { readonly outcome: 'holds'; readonly examples: readonly Example[] }
  | { readonly outcome: 'fails'; readonly counterexample: Example; readonly decision: Decision }
  /** Each part that could not be decided, with the reason. */
  | { readonly outcome: 'undecided'; readonly why: readonly string[] };

/** The code that serves, as far as a proof needs it. */
export interface Deciding extends Setting {
  readonly attemptOf: (when: ExampleCall) => Attempt;
  /** The decision on an example, after the earlier calls that it has. */
  readonly decide: (policy: Policy, example: Example) => Decision;
}

/** The code that serves does not decide what the proof says: one of them is wrong. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

/** The limit on the steps of one proof: about two seconds. */
const MAX_STEPS = 3_000_000;

/**
 * Decides whether a policy has a property. A counterexample has been decided by the code that serves.
 *
 * @throws {Disagreement}
 */
export function prove(property: Property, policy: Policy, deciding: Deciding, maxSteps = MAX_STEPS): Proof {
  const rules = compiledRules(policy);
  const budget = { steps: maxSteps };
  const why: string[] = [];
  const searches: (() => readonly Example[])[] = [];
  const { callers, approval } = property;
  const { arguments: inArguments, variables } = describedBy(property);
  const speaksOf = { callers, approval, arguments: inArguments, variables, isAfterCalls: true } as const;
  try {
    for (const call of callsIn(property.calls, [rules])) {
      const wrapper = call.kinds[0] && wrapperOf(rules, call.kinds[0]);
      if (wrapper !== undefined) {
        const refuted = refutedThrough(property, policy, { call, wrapper, budget, why }, deciding);
        if (refuted !== undefined) return refuted;
        continue;
      }
      const { decisions, histories, find } = examine(call, [rules], speaksOf, deciding, budget);
      const overTime = call.kinds.flatMap((kind) => rulesOverTime(planFor(rules, kind)));
      let goal = unexpected(property, decisions.flat());
      let answer = find(goal);
      for (; answer.outcome === 'found'; answer = find(goal)) {
        const [refusing] = answer.refusing;
        const example = withEarlierCalls(answer.example, overTime, refusing, policy, deciding);
        if (example !== undefined) return confirmed(property, policy, example, deciding);
        const wanted = refusing === undefined ? 'are all met' : `refuse first by ${refusing.rule}`;
        why.push(`${overTime[0]?.rule}: no earlier calls are known for which the rules over time ${wanted}`);
        goal = and([goal, ...histories.map((each) => not(each.refusedBy(refusing)))]);
      }
      if (answer.outcome === 'undecided') why.push(...answer.why);
      const refusals = decisions.flat().filter(({ reason }) => reason !== undefined);
      searches.push(() =>
        [true, ...refusals.map(({ when }) => when)].flatMap((described) => {
          const one = find(described);
          if (one.outcome !== 'found') return [];
          return withEarlierCalls(one.example, overTime, one.refusing[0], policy, deciding) ?? one.example;
        }),
      );
    }
  } catch (error) {
    if (!(error instanceof Undecidable)) throw error;
    why.push(error.message);
  }
  if (why.length > 0) return { outcome: 'undecided', why: [...new Set(why)] };
  // Last, so that they use up only the steps that the proof has left.
  const examples = new Map(searches.flatMap((each) => each()).map((each) => [JSON.stringify(each), each]));
  return { outcome: 'holds', examples: [...examples.values()] };
}

interface WrapperSearch {
  readonly call: PossibleCall;
  readonly wrapper: Wrapper;
  readonly budget: Budget;
  /** Takes what is not decided. */
  readonly why: string[];
}

/** Looks for calls of a tool that calls others which refute a property; undefined if none is found. */
function refutedThrough(
  property: Property,
  policy: Policy,
  { call, wrapper, budget, why }: WrapperSearch,
  deciding: Deciding,
): Proof | undefined {
  const rules = compiledRules(policy);
  const { callers, approval } = property;
  const { arguments: inArguments } = describedBy(property);
  const [kind] = call.kinds;
  if (kind === undefined) return undefined;
  const speaksOf = { callers, approval, isAfterCalls: true } as const;
  const unclear = (reason = 'what it calls decides'): undefined => {
    why.push(`${wrapper.rule}: ${reason}`);
  };
  // What the call itself is refused for, whatever it calls.
  const own = examine(call, [rules], { ...speaksOf, arguments: inArguments }, deciding, budget);
  const anyDecision = property.wanted === 'deny' ? unexpected(property, own.decisions.flat()) : true;
  const alone = own.find(anyDecision);
  if (alone.outcome === 'none') return undefined;
  if (alone.outcome === 'undecided') {
    why.push(...alone.why);
    return undefined;
  }
  if (property.wanted !== 'deny') {
    const found = own.find(unexpected(property, own.decisions.flat()));
    for (const each of [alone, found]) {
      if (each.outcome === 'found' && isRefuting(property, policy, each.example, deciding))
        return confirmed(property, policy, each.example, deciding);
    }
    return unclear();
  }
  for (const { call: through, tool } of callsThrough(kind, wrapper, rules, inArguments)) {
    const { decisions, find } = examine(through, [rules], speaksOf, deciding, budget);
    const answer = find(unexpected(property, decisions.flat()));
    if (answer.outcome === 'none') continue;
    if (answer.outcome === 'undecided' || call.when === undefined || tool === undefined) {
      unclear();
      continue;
    }
    const { given, when } = answer.example;
    const example = { given, when: wrapped(wrapper, call.when, when) };
    const overTime = through.kinds.flatMap((each) => rulesOverTime(planFor(rules, each)));
    const found = withEarlierCalls(example, overTime, undefined, policy, deciding);
    if (found !== undefined && isRefuting(property, policy, found, deciding))
      return confirmed(property, policy, found, deciding);
    unclear(`what ${JSON.stringify(tool)} may be called with decides`);
  }
  return undefined;
}

function isRefuting(property: Property, policy: Policy, example: Example, deciding: Deciding): boolean {
  const principal = deciding.callerOf(example.given);
  const isMeant = isDescribed(property, principal, deciding.attemptOf(example.when));
  return isMeant && !isExpected(deciding.decide(policy, example), property.wanted);
}

function describedBy({ calls }: Property): Required<Pick<Described, 'arguments' | 'variables'>> {
  if (calls.kind === 'any') return { arguments: [], variables: [] };
  return { arguments: calls.kind === 'mcp' ? calls.arguments : [], variables: calls.variables };
}

/** Holds where the decision is none that the property wants. */
function unexpected({ wanted }: Property, decisions: readonly PossibleDecision[]): Formula {
  const allowed = or(decisions.map(({ reason, when }) => (reason === undefined ? when : false)));
  if (wanted === 'allow') return not(allowed);
  if (wanted === 'deny') return allowed;
  const reasons = expectedReasons(wanted);
  const { challenge } = wanted;
  const scopes = challenge === undefined || challenge === '' ? [] : challenge.split(' ');
  return or(
    decisions.map(({ reason, when, asked }) => {
      if (reason === undefined || !reasons.includes(reason)) return when;
      return challenge === undefined ? false : and([when, not(challengeIs(scopes, asked))]);
    }),
  );
}

/** An example with earlier calls after which its rules over time decide as they must; undefined if none are known. */
function withEarlierCalls(
  example: Example,
  rules: readonly HistoryRule[],
  refusing: HistoryRule | undefined,
  policy: Policy,
  { decide }: Deciding,
): Example | undefined {
  const alone = denialIn(decide(policy, example));
  // Approvals are asked for after rules over time.
  const isBefore = alone !== undefined && !isByHistory(alone) && alone.reason !== 'approval.required';
  if (rules.length === 0 || isBefore) return example;
  const after = (history: readonly EarlierCall[]): Example =>
    history.length === 0 ? example : { ...example, given: { ...example.given, history } };
  const isWanted = (history: readonly EarlierCall[]): boolean => {
    const refusal = denialIn(decide(policy, after(history)));
    return (refusal === undefined || !isByHistory(refusal) ? undefined : refusal.rule) === refusing?.rule;
  };
  const history = earlierCalls(rules, refusing, example.when, isWanted);
  return history && after(history);
}

function isByHistory({ reason }: PolicyDenial): boolean {
  return refusalOf(reason).by === 'history';
}

/** A counterexample that the code that serves has decided too. */
function confirmed(property: Property, policy: Policy, counterexample: Example, deciding: Deciding): Proof {
  const principal = deciding.callerOf(counterexample.given);
  const attempt = deciding.attemptOf(counterexample.when);
  const decision = deciding.decide(policy, counterexample);
  if (!isDescribed(property, principal, attempt) || isExpected(decision, property.wanted)) {
    throw new Disagreement(`${policy.name}: ${property.name}: ${JSON.stringify(counterexample)}`);
  }
  return { outcome: 'fails', counterexample, decision };
}

/** Whether a property speaks of a call of a caller. */
export function isDescribed({ callers, calls }: Property, principal: Principal, attempt: Attempt): boolean {
  if (callers.judge(principal) !== 'met') return false;
  if (calls.kind === 'any') return true;
  if (calls.kind === 'http') {
    if (attempt.kind !== 'http' || (calls.request !== undefined && attempt.request === undefined)) return false;
    if (calls.request?.every(({ test }) => test(attempt.request)) === false) return false;
    return calls.variables.every((each) => isVariableMet(each, principal, attempt.request));
  }
  if (attempt.kind !== 'mcp') return false;
  const { target, method } = calls;
  const [named] = attempt.targets;
  if (named?.kind !== target?.kind || target?.name.every(({ test }) => test(named?.name)) === false) return false;
  if (method?.every(({ test }) => test(attempt.method.name)) === false) return false;
  if (method === undefined && target !== undefined && attempt.method.name !== listedKinds[target.kind].namedBy)
    return false;
  if (!calls.variables.every((each) => isVariableMet(each, principal, named?.name))) return false;
  return calls.arguments.every(({ read, predicates }) =>
    predicates.every(({ test }) => test(read(attempt.arguments), principal)),
  );
}
