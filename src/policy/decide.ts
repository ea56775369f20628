import { describeValue } from '../lib/json/describe-value.ts';
import type { PolicyDenial } from '../model/denial.ts';
import { mcpMethod } from '../model/mcp.ts';
import type { Attempt, Decision, Explanation, McpAttempt, McpTarget } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { refusalOf } from '../model/reasons.ts';
import type { AllCondition } from './conditions/all.ts';
import { type Verdict, graver, neededScopes, policyDenial } from './conditions/condition.ts';
import type { PolicyDocument } from './document.ts';
import type { Entry } from './entry.ts';
import type { PastRule } from './history-rules.ts';
import { type Listing, methodEntry } from './listing.ts';
import { type Plan, ownRule } from './plan.ts';

/** A policy document, compiled. */
export interface Rules {
  readonly document: PolicyDocument;
  /** What every request on the route must meet. */
  readonly condition: AllCondition;
  /** Undefined if the policy does not list what may be called: then anything may be. */
  readonly listing: Listing | undefined;
  /** The rules over time that look back at calls of tools; undefined if the policy has no rules over time. */
  readonly past: readonly PastRule[] | undefined;
  /** The operator's words for a caller that the policy itself refuses, or whose call it does not list. */
  readonly because: string | undefined;
  readonly mode: 'enforce' | 'shadow';
  /** As the document says, whatever the mode. */
  readonly lists: 'filter' | 'show';
  /** What the gateway does with definitions that were not approved; it affects no decision of the policy. */
  readonly lock: 'deny' | 'report' | 'off';
  readonly planOf: (attempt: Attempt) => Plan;
}

/** What steps see of a request on an HTTP route. */
const plainRequest: McpAttempt = { kind: 'mcp', method: mcpMethod(undefined), targets: [], arguments: undefined };

function messageOf(attempt: Attempt): McpAttempt {
  return attempt.kind === 'http' ? plainRequest : attempt;
}

/**
 * Decides one call. Never throws: an error is a denial, because a call without a decision must not pass.
 */
export function decide(rules: Rules, principal: Principal, attempt: Attempt): Decision {
  try {
    return decideOrThrow(rules, principal, attempt);
  } catch (error) {
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : `${describeValue(error)} was thrown`;
    return denied({ reason: 'policy.error', rule: ownRule, detail, scope: [] }, rules.because);
  }
}

/**
 * All scopes that an attempt needs, in the order of a challenge. A later stage adds scopes of its own to them. Empty if
 * a condition cannot be evaluated, which is possible in shadow mode.
 */
export function scopesForAttempt({ planOf }: Rules, principal: Principal, attempt: Attempt): readonly string[] {
  try {
    return neededScopes(planOf(attempt).conditions, principal);
  } catch {
    return [];
  }
}

/** The decision of `mode: shadow`: a denial becomes an allowed call that records it. */
export function inShadow(decision: Decision): Decision {
  return decision.allow ? decision : { allow: true, rule: decision.rule, shadow: decision.denial };
}

function decideOrThrow({ planOf }: Rules, principal: Principal, attempt: Attempt): Decision {
  const { steps, conditions, because, allowed } = planOf(attempt);
  const call = messageOf(attempt);
  let verdict: Verdict = 'met';
  for (const step of steps) {
    const judged = step.judge(principal, call);
    if (typeof judged === 'object') return denied(judged, step.because);
    verdict = graver(verdict, judged);
  }
  return verdict === 'met' ? allowed : denied(policyDenial(conditions, verdict, principal), because);
}

/** A denial with the operator's words, except where the caller can get a token that would be accepted. */
function denied(denial: PolicyDenial, because: string | undefined): Decision {
  const words = because !== undefined && refusalOf(denial.reason).isFinal ? { because } : {};
  return { allow: false, rule: denial.rule, denial: { ...denial, ...words } };
}

/**
 * Whether another token of this caller could call a target, for `lists: filter`. A target stays visible if only a scope
 * is missing, so that clients can step up, or if the token only lives too long. Arguments are unknown before the call.
 */
export function couldCall({ condition, listing }: Rules, principal: Principal, { kind, name }: McpTarget): boolean {
  try {
    if (condition.judge(principal) === 'refused') return false;
    if (listing === undefined) return true;
    const entry = listing[kind]?.(name);
    if (entry === undefined || entry.condition.judge(principal) === 'refused') return false;
    const method = methodEntry(listing, kind);
    return method === undefined || method.condition.judge(principal) !== 'refused';
  } catch {
    // `decide` would deny a call whose conditions cannot be evaluated.
    return false;
  }
}

/**
 * Every condition that applies to a call, with what it wanted and what it found. It walks all steps, where `decide`
 * stops at the first that denies. The code that decides judges each of them.
 */
export function explain({ planOf }: Rules, principal: Principal, attempt: Attempt): readonly Explanation[] {
  const { steps } = planOf(attempt);
  const call = messageOf(attempt);
  return steps.flatMap((step) => {
    const { entry } = step;
    if (entry === undefined) return step.explain(principal, call);
    if (step.on !== 'condition') return [];
    const ofArguments = steps.filter((other) => other.on === 'argument' && other.entry === entry);
    return explainEntry(
      entry,
      [step, ...ofArguments].flatMap((part) => part.explain(principal, call)),
    );
  });
}

function explainEntry({ rule, name }: Entry, parts: readonly Explanation[]): Explanation {
  const outcomes = new Set(parts.map(({ outcome }) => outcome));
  const outcome = (['error', 'fails', 'unknown'] as const).find((each) => outcomes.has(each)) ?? 'holds';
  return { rule, kind: 'listed', outcome, wanted: 'all of its conditions', found: describeValue(name), parts };
}
