/**
 * @module The order in which a policy decides: a list of steps. `decide` takes the first that refuses, `explain` shows
 * all of them, and `prove` states when each refuses.
 */

import type { PolicyDenial } from '../model/denial.ts';
import type { McpMethod } from '../model/mcp.ts';
import { type Attempt, type Decision, type Explanation, type McpAttempt, calledTool } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { type ArgumentCondition, argumentDenial, explainArgument } from './argument.ts';
import type { AllCondition } from './conditions/all.ts';
import { type Verdict, explainCondition, policyDenial } from './conditions/condition.ts';
import { type Entry, takesArguments } from './entry.ts';
import { countingDenial, explainRule, ownRules, ownerDenial } from './history.ts';
import type { HistoryRule, PastRule } from './history-rules.ts';
import { type Listing, type Unlisted, entriesFor, unlistedDenial, unlistedInWords } from './listing.ts';

/** One thing that may refuse a call. */
export type Step = AnyStep &
  (
    | { readonly on: 'condition'; readonly condition: AllCondition }
    | { readonly on: 'listing'; readonly unlisted: Unlisted }
    | { readonly on: 'argument'; readonly argument: ArgumentCondition }
    /** `owner`: it only needs to know whose call it is, because a rule of another call looks back at it. */
    | { readonly on: 'counting' | 'owner'; readonly rule: HistoryRule }
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
  readonly judge: (principal: Principal, call: McpAttempt) => PolicyDenial | Exclude<Verdict, 'refused'>;
  readonly explain: (principal: Principal, call: McpAttempt) => readonly Explanation[];
}

/** Calls that a policy decides by the same entries. */
export interface CallKind {
  readonly method: McpMethod;
  /** What the policy lists for such a call; undefined where it needs no entry. */
  readonly entries: readonly Entry[] | Unlisted | undefined;
  /** The rules over time of other calls that look back at such a call. */
  readonly covering: readonly PastRule[];
}

/** How a policy decides calls of one kind. */
export interface Plan {
  /** In the order in which they are tried. If none of them denies, the gravest verdict decides. */
  readonly steps: readonly Step[];
  /** The conditions on the caller, of all steps. */
  readonly conditions: readonly AllCondition[];
  /** The decision if every verdict is `met`. */
  readonly allowed: Decision;
  /** The operator's words for a caller whose token is not enough. */
  readonly because: string | undefined;
}

/** What a policy wants of every call. */
interface OwnConditions {
  readonly condition: AllCondition;
  readonly because: string | undefined;
}

/** The rule of a call that the policy's own conditions allow, without an entry. */
export const ownRule = 'policy';

const allowed: Decision = Object.freeze({ allow: true, rule: ownRule });

/** How a policy decides calls of a kind. */
export function planFor(own: OwnConditions, kind: CallKind): Plan {
  return extended(ownPlan(own), kind);
}

function ownPlan({ condition, because }: OwnConditions): Plan {
  return { steps: [conditionStep(condition, because)], conditions: [condition], allowed, because };
}

/** The steps of a policy itself, then those of the entries of a call: the order of all that may refuse it. */
function extended(own: Plan, { method, entries, covering }: CallKind): Plan {
  if (entries === undefined) return own;
  // The policy itself comes first: a caller that it refuses must not learn what is listed.
  if ('reason' in entries) {
    const { conditions, because } = own;
    return { steps: [...own.steps, listingStep(entries, because)], conditions, allowed: own.allowed, because };
  }
  const inArguments = takesArguments(method) ? [...new Set(entries)].flatMap(argumentSteps) : [];
  const counting = ownRules(entries, method);
  const others = covering.filter((rule) => !counting.includes(rule));
  return {
    steps: [
      ...own.steps,
      ...entries.map((entry) => conditionStep(entry.condition, entry.because, entry)),
      // Arguments come after claims and before scopes: a challenge for a call that stays refused would loop.
      ...inArguments,
      ...counting.map(countingStep),
      ...others.map(ownerStep),
    ],
    conditions: [...own.conditions, ...entries.map(({ condition }) => condition)],
    allowed: entries[0]?.allowed ?? own.allowed,
    because: undefined,
  };
}

/** The rules over time that a call must meet. */
export function rulesOverTime({ steps }: Plan): readonly HistoryRule[] {
  return steps.flatMap((step) => (step.on === 'counting' ? step.rule : []));
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
    judge: (_, call) => argumentDenial(argument, call.arguments) ?? 'met',
    explain: (_, call) => [explainArgument(argument, call.arguments)],
  }));
}

function countingStep(rule: HistoryRule): Step {
  return {
    on: 'counting',
    rule,
    because: rule.because,
    judge: (principal, call) => countingDenial(rule, principal, call.arguments) ?? 'met',
    explain: (principal, call) => [explainRule(rule, principal, call.arguments)],
  };
}

/** A call of a tool that a rule looks back at must have an owner. */
function ownerStep(rule: PastRule): Step {
  const denialOf = (principal: Principal, call: McpAttempt): PolicyDenial | undefined => {
    const tool = calledTool(call);
    return tool !== undefined && rule.covers(tool) ? ownerDenial(rule, principal) : undefined;
  };
  return {
    on: 'owner',
    rule,
    because: rule.because,
    judge: (principal, call) => denialOf(principal, call) ?? 'met',
    explain: (principal, call) =>
      denialOf(principal, call) === undefined ? [] : [explainRule(rule, principal, call.arguments)],
  };
}

/** The most entries of a call whose plan is kept: a call may name any number of resources. */
const MAX_KEPT = 2;

/** The plans of calls whose entries begin alike. */
interface PlanNode {
  ofCalls?: Plan;
  ofReferences?: Plan;
  readonly next: Map<Entry, PlanNode>;
}

/** Finds the plan of each call. It is made once, unless the call has many entries. */
export function createPlans(
  conditions: OwnConditions,
  listing: Listing | undefined,
  covering: readonly PastRule[] = [],
): (attempt: Attempt) => Plan {
  const own = ownPlan(conditions);
  if (listing === undefined) return () => own;
  const root: PlanNode = { next: new Map() };
  return (attempt) => {
    if (attempt.kind === 'http') return own;
    const { method } = attempt;
    const entries = entriesFor(listing, attempt);
    if ('reason' in entries || entries.length > MAX_KEPT) return extended(own, { method, entries, covering });
    let node = root;
    for (const entry of entries) node = nodeAfter(node, entry);
    const key = takesArguments(method) ? 'ofCalls' : 'ofReferences';
    return (node[key] ??= extended(own, { method, entries, covering }));
  };
}

function nodeAfter({ next }: PlanNode, entry: Entry): PlanNode {
  const before = next.get(entry);
  if (before !== undefined) return before;
  const node: PlanNode = { next: new Map() };
  next.set(entry, node);
  return node;
}
