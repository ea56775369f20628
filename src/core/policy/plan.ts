/**
 * @module The order in which a policy decides: a list of steps. `decide` takes the first that refuses, explanations
 * show all of them, and proofs state when each refuses.
 */

import { keysOf } from '../lib/json/pointer.ts';
import { noMethod } from '../model/mcp.ts';
import type { McpMethod } from '../model/mcp-method.ts';
import type { Attempt, PartKey, PolicyDecision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { argumentDenial } from './argument.ts';
import type { AllCondition } from './conditions/groups.ts';
import { neededScopes, policyDenial } from './conditions/condition.ts';
import { type Entry, takesArguments } from './entry.ts';
import type { DecidingPlan, OpenPart, PlanPart, Step } from './part.ts';
import { targetAt, variableDenial } from './variable.ts';
import { type Listing, type Unlisted, entriesFor, unlistedDenial } from './listing.ts';

/** Calls that a policy decides by the same entries. */
export interface CallKind {
  readonly method: McpMethod;
  /** What the policy lists for such a call; undefined where it needs no entry. */
  readonly entries: readonly Entry[] | Unlisted | undefined;
  /** What a proof knows of such calls, for the part of a key. Default: nothing. */
  readonly known?: ReadonlyMap<PartKey, unknown>;
}

interface OwnConditions {
  readonly condition: AllCondition;
  readonly because: string | undefined;
  readonly mode: 'enforce' | 'shadow';
  readonly open: readonly OpenPart[];
}

/** The rule of a call that the policy's own conditions allow, without an entry. */
export const ownRule = 'policy';

/** The way in which a policy decides calls of one kind. */
export class CallPlan implements DecidingPlan {
  readonly steps: readonly Step[];
  readonly conditions: readonly AllCondition[];
  readonly allowed: PolicyDecision;
  readonly because: string | undefined;
  readonly parts: ReadonlyMap<PartKey, PlanPart>;

  constructor(steps: readonly Step[], parts: ReadonlyMap<PartKey, PlanPart>) {
    this.steps = steps;
    this.parts = parts;
    this.conditions = steps.flatMap((step) => (step.on === 'condition' ? step.condition : []));
    const ofEntry = steps.find((step) => step.entry !== undefined);
    const entry = ofEntry?.entry;
    this.because = (ofEntry ?? steps[0])?.because;
    this.allowed = Object.freeze({ allow: true, rule: entry?.rule ?? ownRule, plan: this });
  }

  neededScopes(principal: Principal): readonly string[] {
    return scopesOfAll(this.conditions, principal);
  }

  argumentsRead(attempt: Attempt): readonly (readonly string[])[] {
    return [
      ...this.steps.flatMap((step) => (step.on === 'argument' ? [keysOf(step.argument.pointer) ?? []] : [])),
      ...[...this.parts.values()].flatMap((part) => part.argumentsRead(attempt)),
    ];
  }
}

/** The scopes that conditions need; none if one of them cannot be evaluated. */
export function scopesOfAll(conditions: readonly AllCondition[], principal: Principal): readonly string[] {
  try {
    return neededScopes(conditions, principal);
  } catch {
    return [];
  }
}

/** The plan for calls of a kind: the policy's own conditions, then the entries of the call. */
export function planFor({ condition, because, mode, open }: OwnConditions, kind: CallKind): CallPlan {
  const own = conditionStep(condition, because);
  const { method, entries = [], known } = kind;
  // A completion only names what it completes, and uses nothing of it.
  const used =
    'reason' in entries ? [] : [...new Set(entries)].filter(({ key }) => takesArguments(method) || key === 'methods');
  const isShadow = mode === 'shadow';
  const parts = new Map(
    open.map(({ part, of }) => [part.key, part.plan(of, { entries: used, isShadow, known: known?.get(part.key) })]),
  );
  // The policy itself comes first: a caller that it refuses must not learn what is listed.
  if ('reason' in entries) return new CallPlan([own, listingStep(entries, because)], parts);
  const steps = [
    own,
    ...entries.map((entry) => conditionStep(entry.condition, entry.because, entry)),
    // Arguments come after claims and before scopes: a challenge for a call that stays refused would loop.
    ...used.flatMap(otherMemberSteps),
    ...used.flatMap(argumentSteps),
    ...(takesArguments(method) ? entries.flatMap(variableSteps) : []),
    ...[...parts.values()].flatMap((part) => part.steps),
  ];
  return new CallPlan(steps, parts);
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
  };
}

function listingStep(unlisted: Unlisted, because: string | undefined): Step {
  return {
    on: 'listing',
    unlisted,
    because,
    judge: () => unlistedDenial(unlisted),
  };
}

/**
 * SEP-3221 and servers of their own invent members beside `arguments`. Where what a call asks for decides, the policy
 * must see all of it.
 */
function otherMemberSteps(entry: Entry): readonly Step[] {
  const { rule, because } = entry;
  const bindsArguments = entry.arguments.length > 0 || [...entry.parts.values()].some((part) => part.bindsArguments);
  if (!bindsArguments) return [];
  return [
    {
      on: 'other member',
      because,
      entry,
      judge(_principal, call) {
        const reads = otherMemberOf(call);
        if (reads === undefined) return 'met';
        return { reason: 'argument.denied', rule, detail: `${reads} is not covered by this policy`, scope: [] };
      },
    },
  ];
}

/** The longest name of a member in messages, in characters. */
const MAX_SHOWN = 128;

/** The member besides `params.arguments` that a call has, for messages; undefined: none. */
export function otherMemberOf(call: Attempt): string | undefined {
  return call.kind === 'mcp' ? call.otherMember?.slice(0, MAX_SHOWN) : undefined;
}

function argumentSteps(entry: Entry): readonly Step[] {
  return entry.arguments.map((argument) => ({
    on: 'argument',
    argument,
    because: entry.because,
    entry,
    judge: (principal, call) => argumentDenial(argument, principal, call) ?? 'met',
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
  }));
}

/** The most entries of a call whose plan is kept: a call may name any number of resources. */
const MAX_KEPT = 2;

interface PlanNode {
  ofCalls?: CallPlan;
  ofReferences?: CallPlan;
  readonly next: Map<Entry, PlanNode>;
}

/** Finds the plan of each call. It is made once, unless the call has many entries or inner calls. */
export function createPlans(own: OwnConditions, listing: Listing | undefined): (attempt: Attempt) => DecidingPlan {
  const planOf = createPlansOfOne(own, listing);
  const found = innerPartIn(own.open);
  return found === undefined ? planOf : (attempt) => found.inner.plan(found.of, attempt, planOf);
}

/** The part of a policy that decides calls as several, with what it is of this policy; undefined: none does. */
export function innerPartIn(open: readonly OpenPart[]) {
  return open.flatMap(({ part: { inner }, of }) => (inner === undefined ? [] : { inner, of }))[0];
}

/** The plans of calls, each without its inner calls. */
function createPlansOfOne(own: OwnConditions, listing: Listing | undefined): (attempt: Attempt) => CallPlan {
  const ownPlan = planFor(own, { method: noMethod, entries: undefined });
  if (listing === undefined) return () => ownPlan;
  const root: PlanNode = { next: new Map() };
  return (attempt) => {
    const method = attempt.kind === 'http' ? noMethod : attempt.method;
    const entries = entriesFor(listing, attempt);
    if ('reason' in entries || entries.length > MAX_KEPT) return planFor(own, { method, entries });
    let node = root;
    for (const entry of entries) node = nodeAfter(node, entry);
    const key = takesArguments(method) ? 'ofCalls' : 'ofReferences';
    return (node[key] ??= planFor(own, { method, entries }));
  };
}

function nodeAfter({ next }: PlanNode, entry: Entry): PlanNode {
  const before = next.get(entry);
  if (before !== undefined) return before;
  const node: PlanNode = { next: new Map() };
  next.set(entry, node);
  return node;
}
