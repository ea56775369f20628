import { describeValue } from '../lib/json/describe-value.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { Attempt, McpTarget, Policy, PolicyDecision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { refusalOf } from '../model/reasons.ts';
import type { AllCondition } from './conditions/groups.ts';
import { type Verdict, graver, policyDenial } from './conditions/condition.ts';
import type { PolicyDocument } from './document.ts';
import { type Listing, methodEntry } from './listing.ts';
import type { DecidingPlan, OpenPart, Step } from './part.ts';
import { ownRule } from './plan.ts';
import { isVariableMet } from './variable.ts';

/** A policy document, compiled. */
export interface Rules {
  readonly document: PolicyDocument;
  /** What every request on the route must meet. */
  readonly condition: AllCondition;
  /** Undefined if the policy does not list what may be called: then anything may be. */
  readonly listing: Listing | undefined;
  readonly open: readonly OpenPart[];
  /** The same, as of `Policy.parts`. */
  readonly parts: Policy['parts'];
  /** The operator's words for a caller that the policy itself refuses, or whose call it does not list. */
  readonly because: string | undefined;
  readonly mode: 'enforce' | 'shadow';
  /** As the document says, whatever the mode. */
  readonly lists: 'filter' | 'show';
  readonly planOf: (attempt: Attempt) => DecidingPlan;
}

/**
 * Decides one call. Never throws: an error is a denial, because a call without a decision must not pass.
 */
export function decide(rules: Rules, principal: Principal, attempt: Attempt): PolicyDecision {
  let plan: DecidingPlan | undefined;
  try {
    plan = rules.planOf(attempt);
    return decideOrThrow(plan, principal, attempt);
  } catch (error) {
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : `${describeValue(error)} was thrown`;
    plan ??= rules.planOf({ kind: 'http' });
    return denied({ reason: 'policy.error', rule: ownRule, detail, scope: [] }, rules, plan);
  }
}

/** The decision of `mode: shadow`: a denial becomes an allowed call that records it. */
export function inShadow(decision: PolicyDecision): PolicyDecision {
  if (decision.allow) return decision;
  const { rule, denial, plan } = decision;
  return { allow: true, rule, shadow: denial, plan };
}

function decideOrThrow(plan: DecidingPlan, principal: Principal, attempt: Attempt): PolicyDecision {
  const { steps, conditions, allowed } = plan;
  let verdict: Verdict = 'met';
  let decisive: Denying = {};
  for (const step of steps) {
    const judged = step.judge(principal, attempt);
    if (typeof judged === 'object') return denied(judged, step, plan);
    if (graver(verdict, judged) === verdict) continue;
    verdict = judged;
    decisive = step;
  }
  return verdict === 'met' ? allowed : denied(policyDenial(conditions, verdict, principal), decisive, plan);
}

/** The step that denies, or the policy itself. */
type Denying = Partial<Pick<Step, 'because' | 'tool'>>;

/** A denial with the operator's words, except where the caller can get a token that would be accepted. */
function denied(denial: PolicyDenial, { because, tool }: Denying, plan: DecidingPlan): PolicyDecision {
  const words = because !== undefined && refusalOf(denial.reason).isFinal ? { because } : {};
  const inner = tool === undefined ? {} : { tool };
  return { allow: false, rule: denial.rule, denial: { ...denial, ...words, ...inner }, plan };
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
    // A template stands for URIs of every caller.
    if (kind === 'resource' && !entry.variables.every((each) => isVariableMet(each, principal, name))) return false;
    const method = methodEntry(listing, kind);
    return method === undefined || method.condition.judge(principal) !== 'refused';
  } catch {
    // `decide` would deny a call whose conditions cannot be evaluated.
    return false;
  }
}
