/**
 * @module The order in which a policy decides: a list of steps. `decide` takes the first that refuses, `explain` shows
 * all of them, and `prove` states when each refuses.
 */

import { describeValue } from '../lib/json/describe-value.ts';
import { keysOf } from '../lib/json/pointer.ts';
import type { NeededApproval } from '../model/approval.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { CallHistory } from '../model/history.ts';
import { type McpMethod, noMethod } from '../model/mcp.ts';
import { type Attempt, type Explanation, type Plan, type PolicyDecision, argumentsOf } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { type Approval, explainApproval, joinedApproval, needsApproval } from './approval.ts';
import { type ArgumentCondition, argumentDenial, explainArgument } from './argument.ts';
import type { AllCondition } from './conditions/groups.ts';
import { type Verdict, explainCondition, neededScopes, policyDenial } from './conditions/condition.ts';
import { type Entry, takesArguments } from './entry.ts';
import { type CountingRules, callHistory, countingDenial, explainRule, ownerDenial } from './history.ts';
import { type HistoryRule, type PastRule, readBy } from './history-rules.ts';
import { explainVariable, targetAt, variableDenial, type VariableCondition } from './variable.ts';
import { type Listing, type Unlisted, entriesFor, unlistedDenial, unlistedInWords } from './listing.ts';

/** A part of a policy that may refuse a call. */
export type Step = AnyStep &
  (
    | { readonly on: 'condition'; readonly condition: AllCondition }
    | { readonly on: 'listing'; readonly unlisted: Unlisted }
    | { readonly on: 'argument'; readonly argument: ArgumentCondition }
    /** `at`: the place of its entry among those of the call, and of its target among the targets. */
    | { readonly on: 'variable'; readonly variable: VariableCondition; readonly at: number }
    /** `owner`: it only needs to know whose call it is, because a rule of another call looks back at it. */
    | { readonly on: 'counting' | 'owner'; readonly rule: HistoryRule }
    | { readonly on: 'approval'; readonly approval: Approval }
  );

interface AnyStep {
  /** The entry that it belongs to; undefined for one of the policy, or of a rule over time. */
  readonly entry?: Entry | undefined;
  /** The operator's words for a caller that it refuses. */
  readonly because: string | undefined;
  /**
   * The denial, if no token that this caller may get would help, or else the verdict. It allocates only for a denial.
   *
   * @throws whatever a predicate throws.
   */
  readonly judge: (principal: Principal, call: Attempt) => PolicyDenial | Exclude<Verdict, 'refused'>;
  readonly explain: (principal: Principal, call: Attempt) => readonly Explanation[];
}

/** Calls that a policy decides by the same entries. */
export interface CallKind {
  readonly method: McpMethod;
  /** What the policy lists for such a call; undefined where it needs no entry. */
  readonly entries: readonly Entry[] | Unlisted | undefined;
  /** The rules over time of other calls that look back at such a call. */
  readonly covering: readonly PastRule[];
}

interface OwnConditions {
  readonly condition: AllCondition;
  readonly because: string | undefined;
  readonly mode: 'enforce' | 'shadow';
}

/** The rule of a call that the policy's own conditions allow, without an entry. */
export const ownRule = 'policy';

/** The way in which a policy decides calls of one kind. */
export class CallPlan implements Plan {
  /** In the order in which they are tried. If none of them denies, the gravest verdict decides. */
  readonly steps: readonly Step[];
  /** The conditions on the caller, of all steps. */
  readonly conditions: readonly AllCondition[];
  /** The decision if every verdict is `met`, made once. */
  readonly allowed: PolicyDecision;
  readonly because: string | undefined;
  /** The approvals of its entries. */
  readonly approvals: readonly Approval[];
  readonly #counting: CountingRules;

  constructor(steps: readonly Step[], counting: CountingRules) {
    this.steps = steps;
    this.conditions = steps.flatMap((step) => (step.on === 'condition' ? step.condition : []));
    const ofEntry = steps.find((step) => step.entry !== undefined);
    const entry = ofEntry?.entry;
    this.because = (ofEntry ?? steps[0])?.because;
    this.allowed = Object.freeze({ allow: true, rule: entry?.rule ?? ownRule, plan: this });
    this.approvals = steps.flatMap((step) => (step.on === 'approval' ? step.approval : []));
    this.#counting = counting;
  }

  /** The rules over time that a call must meet. */
  get rulesOverTime(): readonly HistoryRule[] {
    return this.#counting.own;
  }

  neededScopes(principal: Principal): readonly string[] {
    try {
      return neededScopes(this.conditions, principal);
    } catch {
      return [];
    }
  }

  /** It walks all steps, where a decision stops at the first that denies. The code that decides judges each of them. */
  explain(principal: Principal, call: Attempt): readonly Explanation[] {
    return this.steps.flatMap((step) => {
      const { entry } = step;
      if (entry === undefined) return step.explain(principal, call);
      if (step.on !== 'condition') return [];
      const ofTarget = this.steps.filter(
        ({ on, entry: own }) => own === entry && (on === 'argument' || on === 'variable'),
      );
      return explainEntry(
        entry,
        [step, ...ofTarget].flatMap((part) => part.explain(principal, call)),
      );
    });
  }

  history(principal: Principal, attempt: Attempt, exact?: () => unknown): CallHistory | undefined {
    return callHistory(this.#counting, principal, attempt, exact);
  }

  argumentsRead(attempt: Attempt): readonly (readonly string[])[] {
    // A person sees all arguments, or the approval is bound to what is not shown.
    if (this.approvals.length > 0) return [[]];
    const { own, past } = this.#counting;
    const rules = [...own, ...past.filter(({ covers }) => covers(attempt))];
    const conditions = this.steps.flatMap((step) => (step.on === 'argument' ? step.argument : []));
    return [...conditions, ...rules.flatMap(readBy)].map(({ pointer }) => keysOf(pointer) ?? []);
  }

  approval(principal: Principal, attempt: Attempt): NeededApproval | undefined {
    const needed: Approval[] = [];
    let isCertain = false;
    for (const approval of this.approvals) {
      const needs = needsApproval(approval, principal, attempt);
      if (needs !== false) needed.push(approval);
      if (needs === true) isCertain = true;
    }
    return joinedApproval(needed, { isShadow: this.#counting.isShadow, isCertain, asker: principal });
  }
}

function explainEntry({ rule, name }: Entry, parts: readonly Explanation[]): Explanation {
  const outcomes = new Set(parts.map(({ outcome }) => outcome));
  const outcome = (['error', 'fails', 'unknown'] as const).find((each) => outcomes.has(each)) ?? 'holds';
  return { rule, kind: 'listed', outcome, wanted: 'all of its conditions', found: describeValue(name), parts };
}

/** The plan for calls of a kind: the policy's own conditions, then the entries of the call. */
export function planFor({ condition, because, mode }: OwnConditions, kind: CallKind): CallPlan {
  const own = conditionStep(condition, because);
  const { method, entries = [], covering: past } = kind;
  const isShadow = mode === 'shadow';
  // The policy itself comes first: a caller that it refuses must not learn what is listed.
  if ('reason' in entries) return new CallPlan([own, listingStep(entries, because)], { own: [], past, isShadow });
  // A completion only names what it completes, and uses nothing of it.
  const used = [...new Set(entries)].filter(({ key }) => takesArguments(method) || key === 'methods');
  const counting = used.flatMap(({ history }) => history);
  const steps = [
    own,
    ...entries.map((entry) => conditionStep(entry.condition, entry.because, entry)),
    // Arguments come after claims and before scopes: a challenge for a call that stays refused would loop.
    ...used.flatMap(argumentSteps),
    ...(takesArguments(method) ? entries.flatMap(variableSteps) : []),
    ...counting.map(countingStep),
    ...past.filter((rule) => !counting.includes(rule)).map(ownerStep),
    ...used.flatMap(({ approval }) => (approval ? approvalStep(approval) : [])),
  ];
  return new CallPlan(steps, { own: counting, past, isShadow });
}

function conditionStep(condition: AllCondition, because: string | undefined, entry?: Entry): Step {
  return {
    on: 'condition',
    condition,
    because,
    entry,
    judge(principal) {
      const verdict = condition.judge(principal);
      return verdict === 'refused' ? policyDenial([condition], verdict, principal) : verdict;
    },
    explain: (principal) => condition.parts.map((part) => explainCondition(part, principal)),
  };
}

function listingStep(unlisted: Unlisted, because: string | undefined): Step {
  return {
    on: 'listing',
    unlisted,
    because,
    judge: () => unlistedDenial(unlisted),
    explain: () => [{ rule: unlisted.rule, kind: 'listed', outcome: 'fails', ...unlistedInWords(unlisted), parts: [] }],
  };
}

function argumentSteps(entry: Entry): readonly Step[] {
  return entry.arguments.map((argument) => ({
    on: 'argument',
    argument,
    because: entry.because,
    entry,
    judge: (principal, call) => argumentDenial(argument, principal, call) ?? 'met',
    explain: (principal, call) => [explainArgument(argument, principal, call)],
  }));
}

function variableSteps(entry: Entry, at: number): readonly Step[] {
  return entry.variables.map((variable) => ({
    on: 'variable',
    variable,
    at,
    because: entry.because,
    entry,
    judge: (principal, call) => variableDenial(variable, principal, targetAt(call, at)) ?? 'met',
    explain: (principal, call) => [explainVariable(variable, principal, targetAt(call, at))],
  }));
}

function countingStep(rule: HistoryRule): Step {
  return {
    on: 'counting',
    rule,
    because: rule.because,
    judge: (principal, call) => countingDenial(rule, principal, argumentsOf(call)) ?? 'met',
    explain: (principal, call) => [explainRule(rule, principal, argumentsOf(call))],
  };
}

/** It refuses only what cannot be judged. Whether the call has an approval is asked last, by the stage `approve`. */
function approvalStep(approval: Approval): Step {
  return {
    on: 'approval',
    approval,
    because: approval.because,
    judge(principal, call) {
      needsApproval(approval, principal, call);
      return 'met';
    },
    explain: (principal, call) => [explainApproval(approval, principal, call)],
  };
}

/** A call that a rule looks back at must have an owner. */
function ownerStep(rule: PastRule): Step {
  const denialOf = (principal: Principal, call: Attempt): PolicyDenial | undefined =>
    rule.covers(call) ? ownerDenial(rule, principal) : undefined;
  return {
    on: 'owner',
    rule,
    because: rule.because,
    judge: (principal, call) => denialOf(principal, call) ?? 'met',
    explain: (principal, call) =>
      denialOf(principal, call) === undefined ? [] : [explainRule(rule, principal, argumentsOf(call))],
  };
}

/** The most entries of a call whose plan is kept: a call may name any number of resources. */
const MAX_KEPT = 2;

interface PlanNode {
  ofCalls?: CallPlan;
  ofReferences?: CallPlan;
  readonly next: Map<Entry, PlanNode>;
}

/** Finds the plan of each call. It is made once, unless the call has many entries. */
export function createPlans(
  own: OwnConditions,
  listing: Listing | undefined,
  covering: readonly PastRule[] = [],
): (attempt: Attempt) => CallPlan {
  const ownPlan = planFor(own, { method: noMethod, entries: undefined, covering: [] });
  if (listing === undefined) return () => ownPlan;
  const root: PlanNode = { next: new Map() };
  return (attempt) => {
    const method = attempt.kind === 'http' ? noMethod : attempt.method;
    const entries = entriesFor(listing, attempt);
    if ('reason' in entries || entries.length > MAX_KEPT) return planFor(own, { method, entries, covering });
    let node = root;
    for (const entry of entries) node = nodeAfter(node, entry);
    const key = takesArguments(method) ? 'ofCalls' : 'ofReferences';
    return (node[key] ??= planFor(own, { method, entries, covering }));
  };
}

function nodeAfter({ next }: PlanNode, entry: Entry): PlanNode {
  const before = next.get(entry);
  if (before !== undefined) return before;
  const node: PlanNode = { next: new Map() };
  next.set(entry, node);
  return node;
}
