/**
 * @module Decides properties of policies exactly. The compiled policy and the compiled property become one statement on
 * classes of values (`space.ts`, `decisions.ts`). A search (`search.ts`) finds a caller and a call for which it holds,
 * or proves that there are none. `docs/adr/` says why it is our own.
 */

import { namedBy } from '../model/mcp-methods.ts';
import type { Attempt, Decision, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { compiledRules } from '../policy/compile.ts';
import { type Property, expectedReasons, isExpected } from '../policy/property.ts';
import { judge } from '../policy/verdict.ts';
import { callsIn } from './calls.ts';
import type { PossibleDecision } from './decisions.ts';
import { type Described, type Example, examine } from './examination.ts';
import { type Formula, and, not, or } from './formula.ts';
import { challengeIs } from './needed-scopes.ts';
import type { Setting } from './space.ts';
import { Undecidable } from './undecidable.ts';

/** What a property turned out to be. */
export type Proof =
  /** With an example of each kind of calls that the property describes; none if it describes no caller at all. */
  | { readonly outcome: 'holds'; readonly examples: readonly Example[] }
  | { readonly outcome: 'fails'; readonly counterexample: Example; readonly decision: Decision }
  /** Each part that could not be decided, with the reason. */
  | { readonly outcome: 'undecided'; readonly why: readonly string[] };

/** The code that serves, as far as a proof needs it. */
export interface Deciding extends Setting {
  readonly attemptOf: (when: Example['when']) => Attempt;
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
  const rules = [compiledRules(policy)];
  const budget = { steps: maxSteps };
  const why: string[] = [];
  const examples: Example[] = [];
  const speaksOf = { callers: property.callers, arguments: argumentsOf(property) };
  try {
    for (const call of callsIn(property.calls, rules)) {
      const { decisions, find } = examine(call, rules, speaksOf, deciding, budget);
      const answer = find(unexpected(property, decisions.flat()));
      if (answer.outcome === 'found') return confirmed(property, policy, answer.example, deciding);
      if (answer.outcome === 'undecided') why.push(...answer.why);
      const described = find(true);
      if (described.outcome === 'found') examples.push(described.example);
    }
  } catch (error) {
    if (!(error instanceof Undecidable)) throw error;
    why.push(error.message);
  }
  return why.length === 0 ? { outcome: 'holds', examples } : { outcome: 'undecided', why: [...new Set(why)] };
}

function argumentsOf({ calls }: Property): Described['arguments'] & object {
  return calls.kind === 'mcp' ? calls.arguments : [];
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

/** A counterexample that the code that serves has decided too. */
function confirmed(property: Property, policy: Policy, counterexample: Example, deciding: Deciding): Proof {
  const principal = deciding.callerOf(counterexample.given);
  const attempt = deciding.attemptOf(counterexample.when);
  const decision = policy.decide(principal, attempt);
  if (!isDescribed(property, principal, attempt) || isExpected(decision, property.wanted)) {
    throw new Disagreement(`${policy.name}: ${property.name}: ${JSON.stringify(counterexample)}`);
  }
  return { outcome: 'fails', counterexample, decision };
}

/** Whether a property speaks of a call of a caller. */
export function isDescribed({ callers, calls }: Property, principal: Principal, attempt: Attempt): boolean {
  if (judge(callers, principal) !== 'met') return false;
  if (calls.kind !== 'mcp') return calls.kind === 'any' || attempt.kind === 'http';
  if (attempt.kind !== 'mcp') return false;
  const { target, method } = calls;
  const [named] = attempt.targets;
  if (named?.kind !== target?.kind || target?.name.every(({ test }) => test(named?.name)) === false) return false;
  if (method?.every(({ test }) => test(attempt.method)) === false) return false;
  if (method === undefined && target !== undefined && attempt.method !== namedBy[target.kind]) return false;
  return calls.arguments.every(({ read, predicates }) => predicates.every(({ test }) => test(read(attempt.arguments))));
}
