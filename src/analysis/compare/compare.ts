/**
 * @module Says what an edit of a policy means: for each rule that decides and each kind of difference, one caller and
 * one call on which both policies have decided differently. Pure. The differences are found as counterexamples of
 * properties are (`src/analysis/prove`), so that none that it does not find exists.
 */

import { approvalsIn, rulesOverTime } from '../prove/parts.ts';
import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import { ownMember } from '../../core/lib/json/own-member.ts';
import { type Decision, denialIn, type Policy } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import { decisionWith } from '../review/given-approval.ts';
import { compiledRules, compilePolicy } from '../../core/policy/compile.ts';
import type { Rules } from '../../core/policy/decide.ts';
import type { HistoryRule } from '../../policy-parts/history/rules.ts';
import { Undecidable } from '../prove/text-automaton.ts';
import { type CallKind, planFor } from '../../core/policy/plan.ts';
import { callsIn, type PossibleCall } from '../prove/calls.ts';
import { wrapperOf } from '../prove/wrappers.ts';
import { type PolicyDocument, rulePath } from '../../core/policy/document.ts';
import { type Examination, type Example, examine } from '../prove/examination.ts';
import type { Budget, Formula } from '../prove/formula.ts';
import { type Deciding, Disagreement } from '../prove/prove.ts';
import {
  type DecisionKind,
  decisionKinds,
  differAtAll,
  differencesBetween,
  kindBetween,
  type Edited,
  ruleOf,
  suspectsAmong,
} from './differences.ts';
import { isDeepStrictEqual } from 'node:util';

interface Difference {
  readonly kind:
    | DecisionKind
    | 'approval added'
    | 'approval removed'
    | 'rules over time changed'
    | 'inner calls changed'
    | 'mode changed'
    | 'lists changed'
    | 'lock changed'
    | 'calls changed';
  /** The entry that decides, a key that lists entries, or `policy`. */
  readonly rule: string;
  /** What the old policy decides or says: `allow`, a reason, the scopes of a challenge, rules over time, or a value. */
  readonly was: string;
  readonly now: string;
  /** A caller and a call on which the policies differ; undefined for a difference that is no decision. */
  readonly witness: Example | undefined;
}

interface Undecided {
  readonly rule: string;
  readonly why: string;
}

interface Comparison {
  /** The gravest first, then those with the smallest witness. */
  readonly differences: readonly Difference[];
  /** If it is empty, there are no other differences of decisions. */
  readonly undecided: readonly Undecided[];
}

/** The limit on the steps of one comparison: about eight seconds. */
const MAX_STEPS = 12_000_000;
const MAX_STEPS_OF_KIND = 3_000_000;

/**
 * The effects of the edit of a policy. Each witness has been decided by the code that serves, under both policies.
 * `mode: shadow` is compared as if enforced.
 *
 * @throws {Disagreement}
 */
export function comparePolicies(before: Policy, after: Policy, deciding: Deciding): Comparison {
  const policies = [before, after] as const;
  const rules = [compiledRules(before), compiledRules(after)] as const;
  // A policy that was not edited is never too large to compare.
  if (isDeepStrictEqual(rules[0].document, rules[1].document)) return { differences: [], undecided: [] };
  const found: Findings = {
    differences: new Map(),
    histories: new Map(),
    approvals: new Map(),
    inner: new Map(),
    undecided: new Map(),
  };
  let steps = MAX_STEPS;
  try {
    for (const call of callsIn({ kind: 'any' }, rules)) {
      const budget = { steps: Math.min(steps, MAX_STEPS_OF_KIND) };
      const share = budget.steps;
      compareCalls(call, policies, deciding, budget, found);
      steps -= share - budget.steps;
    }
  } catch (error) {
    if (!(error instanceof Undecidable)) throw error;
    note(found, 'policy', [error.message]);
  }
  const differences = [...found.differences.values()].toSorted(gravestFirst);
  const witnessed = new Set(differences.flatMap(({ kind, rule }) => (kind.startsWith('approval') ? rule : [])));
  const approvals = [...found.approvals.values()].filter(({ rule }) => !witnessed.has(rule));
  const unwitnessed = [...approvals, ...found.histories.values(), ...found.inner.values(), ...settingsOf(rules)];
  return { differences: [...differences, ...unwitnessed], undecided: [...found.undecided.values()] };
}

/** The differences found so far: one of each kind that a rule causes. */
interface Findings {
  readonly differences: Map<string, WitnessedDifference>;
  /** Rules over time that changed, by what decides the calls. */
  readonly histories: Map<string, Difference>;
  /** Approvals that changed, in the same way. */
  readonly approvals: Map<string, Difference>;
  /** Inner calls that changed, in the same way. */
  readonly inner: Map<string, Difference>;
  readonly undecided: Map<string, Undecided>;
}

type WitnessedDifference = Difference & { readonly witness: Example };

function note({ undecided }: Findings, rule: string, reasons: readonly string[]): void {
  for (const reason of reasons) {
    const why = reason.startsWith(`${rule}: `) ? reason.slice(rule.length + 2) : reason;
    undecided.set(`${rule} ${why}`, { rule, why });
  }
}

function compareCalls(
  call: PossibleCall,
  policies: Edited<Policy>,
  deciding: Deciding,
  budget: Budget,
  found: Findings,
): void {
  const rules = [compiledRules(policies[0]), compiledRules(policies[1])] as const;
  const kinds = editedKinds(call);
  compareHistories(kinds, rules, found);
  if (compareInner(kinds, rules, found)) return;
  const approvals = compareApprovals(kinds, rules, found);
  const { decisions, find: findAny } = examine(call, rules, {}, deciding, budget);
  const [was = [], is = []] = decisions;
  const any = findAny(differAtAll(differencesBetween(was, is)));
  if (any.outcome === 'none') return;
  if (any.outcome === 'undecided' && budget.steps < 0) {
    note(found, ruleOf(kinds), any.why);
    return;
  }
  const { find, suspects } = suspectsAmong(call, rules, kinds, deciding, budget);
  for (const { kind, rule, goals } of suspects) {
    const key = `${kind} ${rule}`;
    if (found.differences.has(key)) continue;
    const answer = firstFound(goals, find);
    if (answer.outcome === 'undecided') note(found, rule, answer.why);
    if (answer.outcome !== 'found') continue;
    const name = kind === 'approval changed' ? approvals : kind;
    found.differences.set(key, { kind: name, rule, ...confirmed(kind, policies, answer.example, deciding) });
  }
}

/** Notes that calls are under other rules over time. What these refuse depends on calls that came before. */
function compareHistories(kinds: Edited<CallKind>, rules: Edited<Rules>, { histories }: Findings): void {
  const before = historyInWords(rulesOverTime(planFor(rules[0], kinds[0])));
  const after = historyInWords(rulesOverTime(planFor(rules[1], kinds[1])));
  if (before === after) return;
  const rule = ruleOf(kinds);
  const difference = { kind: 'rules over time changed', rule, witness: undefined } as const;
  histories.set(rule, { ...difference, was: before, now: after });
}

/**
 * Notes what differs in how calls of a tool call others. What such a call is decided by besides is that of the inner
 * tools, whose own differences are found with them.
 *
 * @returns whether such calls call others under one of the policies.
 */
function compareInner(kinds: Edited<CallKind>, rules: Edited<Rules>, found: Findings): boolean {
  const [before, after] = [wrapperOf(rules[0], kinds[0]), wrapperOf(rules[1], kinds[1])];
  if (before === undefined && after === undefined) return false;
  const rule = ruleOf(kinds);
  const [was = 'none', now = 'none'] = [before?.wanted, after?.wanted];
  const difference = { kind: 'inner calls changed', rule, was, now, witness: undefined } as const;
  if (was !== now) found.inner.set(rule, difference);
  const [old, edited] = rules.map(({ document }) => ownConditionsOf(document, rule));
  if (!isDeepStrictEqual(old, edited)) note(found, rule, ['what such a call calls decides it too']);
  return true;
}

/** What a document says of calls of an entry, apart from what they call. */
function ownConditionsOf(document: PolicyDocument, rule: string): unknown {
  const entry = Object.entries(document.tools ?? {}).find(([name]) => rulePath(['tools', name]) === rule);
  return { ...document, tools: entry, resources: undefined, prompts: undefined };
}

/** Notes that calls need other approvals. @returns the name of that difference. */
function compareApprovals(kinds: Edited<CallKind>, rules: Edited<Rules>, { approvals }: Findings): Difference['kind'] {
  const before = approvalsIn(planFor(rules[0], kinds[0]));
  const after = approvalsIn(planFor(rules[1], kinds[1]));
  const kind = before.length === 0 ? 'approval added' : after.length === 0 ? 'approval removed' : 'approval changed';
  const [was, now] = [before, after].map((all) => all.map(({ rule, text }) => `${rule}: ${text}`).join('; ') || 'none');
  const rule = ruleOf(kinds);
  if (was !== now) approvals.set(rule, { kind, rule, was: was ?? '', now: now ?? '', witness: undefined });
  return kind;
}

/** Rules over time, each with its place: a quota of another entry counts other calls. */
function historyInWords(rules: readonly HistoryRule[]): string {
  return rules.length === 0 ? 'none' : rules.map(({ rule, wanted }) => `${rule}: ${wanted}`).join('; ');
}

function firstFound(goals: readonly Formula[], find: Examination['find']): ReturnType<Examination['find']> {
  let answer: ReturnType<Examination['find']> = { outcome: 'none' };
  for (const goal of goals) {
    answer = find(goal);
    if (answer.outcome === 'found') return answer;
  }
  return answer;
}

function editedKinds({ kinds }: PossibleCall): Edited<PossibleCall['kinds'][number]> {
  const [before, after] = kinds;
  if (before === undefined || after === undefined) throw new TypeError('calls of two policies have two kinds');
  return [before, after];
}

/** A witness that the code that serves has decided too, under both policies. */
function confirmed(
  kind: DecisionKind,
  [before, after]: Edited<Policy>,
  witness: Example,
  { callerOf, attemptOf }: Deciding,
): Pick<WitnessedDifference, 'was' | 'now' | 'witness'> {
  const [principal, attempt] = [callerOf(witness.given), attemptOf(witness.when)];
  const { approval = 'none' } = witness.given;
  const decided = [before, after].map((policy) => {
    const decision = policy.decide(principal, attempt);
    return decisionWith(approval, decision, () => approvalsKey.inPlan(decision.plan)?.needed(principal, attempt));
  });
  const [was, now] = decided;
  if (was === undefined || now === undefined || kindBetween(was, now) !== kind) {
    throw new Disagreement(`${after.name}: ${kind}: ${JSON.stringify(witness)}`);
  }
  return { was: outcomeOf(was, kind), now: outcomeOf(now, kind), witness };
}

function outcomeOf(decision: Decision, kind: DecisionKind): string {
  const denial = denialIn(decision);
  if (denial === undefined) return 'allow';
  return kind === 'asked for other scopes' ? denial.scope.join(' ') : denial.reason;
}

function settingsOf([before, after]: Edited<Rules>): readonly Difference[] {
  const [was, now] = [settingsIn(before), settingsIn(after)];
  const changed = (['mode', 'lists', 'lock', 'calls'] as const).filter((key) => was[key] !== now[key]);
  return changed.map((key) => {
    return { kind: `${key} changed`, rule: key, was: was[key], now: now[key], witness: undefined };
  });
}

function settingsIn({ mode, lists, document }: Rules): Readonly<Record<'mode' | 'lists' | 'lock' | 'calls', string>> {
  const written = (key: 'lock' | 'calls'): string => {
    const value = ownMember(document, key);
    return typeof value === 'string' ? value : 'off';
  };
  return { mode, lists, lock: written('lock'), calls: written('calls') };
}

function gravestFirst(one: WitnessedDifference, other: WitnessedDifference): number {
  const gravity = gravityOf(one) - gravityOf(other);
  return gravity === 0 ? sizeOf(one) - sizeOf(other) : gravity;
}

function gravityOf({ kind }: WitnessedDifference): number {
  return decisionKinds.findIndex((each) => each === (kind.startsWith('approval') ? 'approval changed' : kind));
}

function sizeOf({ witness }: WitnessedDifference): number {
  return JSON.stringify(witness).length;
}

/** A difference between two sets of policies, or of routes. */
export interface NamedDifference {
  /** The policy; `route NAME` for a route that has another policy. */
  readonly policy: string;
  readonly kind: Difference['kind'] | 'added' | 'removed' | 'policy changed';
  /** Undefined for a policy as a whole. */
  readonly rule?: string;
  readonly was?: string;
  readonly now?: string;
  readonly witness?: Example | undefined;
}

/** The effects of the edit of several policies. */
export interface NamedComparison {
  readonly differences: readonly NamedDifference[];
  readonly undecided: readonly (Undecided & { readonly policy: string })[];
}

/** The effects of the edit of a set of policies, by their names. */
export function compareAll(
  before: ReadonlyMap<string, Policy>,
  after: ReadonlyMap<string, Policy>,
  deciding: Deciding,
): NamedComparison {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return joined(
    names.map((policy) => {
      const was = before.get(policy);
      const is = after.get(policy);
      if (was === undefined) return { differences: [{ policy, kind: 'added' }], undecided: [] };
      if (is === undefined) return { differences: [{ policy, kind: 'removed' }], undecided: [] };
      return named(policy, was, is, deciding);
    }),
  );
}

/** The effects where routes have another policy than before. Routes that are new or gone are left out. */
export function compareRoutes(before: readonly Route[], after: readonly Route[], deciding: Deciding): NamedComparison {
  const earlier = new Map(before.map((route) => [route.name, route]));
  return joined(
    after.map((route) => {
      const was = earlier.get(route.name);
      if (was === undefined || policyOf(was) === policyOf(route)) return { differences: [], undecided: [] };
      const policy = `route ${route.name}`;
      const change: NamedDifference = {
        policy,
        kind: 'policy changed',
        rule: 'policy',
        was: policyOf(was),
        now: policyOf(route),
      };
      // Every caller may use a public route, and has no token to compare.
      const decisions =
        was.public || route.public ? [] : [named(policy, was.policy ?? anyToken, route.policy ?? anyToken, deciding)];
      return joined([{ differences: [change], undecided: [] }, ...decisions]);
    }),
  );
}

/** The policy of a route without one. */
const anyToken = compilePolicy('none', {});

function policyOf(route: Route): string {
  return route.public ? 'public' : (route.policy?.name ?? 'none');
}

function named(policy: string, before: Policy, after: Policy, deciding: Deciding): NamedComparison {
  const { differences, undecided } = comparePolicies(before, after, deciding);
  return {
    differences: differences.map(({ kind, rule, was, now, witness }) => ({ policy, kind, rule, was, now, witness })),
    undecided: undecided.map(({ rule, why }) => ({ policy, rule, why })),
  };
}

/** Several comparisons as one. */
export function joined(comparisons: readonly NamedComparison[]): NamedComparison {
  return {
    differences: comparisons.flatMap(({ differences }) => differences),
    undecided: comparisons.flatMap(({ undecided }) => undecided),
  };
}
