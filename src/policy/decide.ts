import { refusalOf } from '../model/reasons.ts';
import { unknownArguments, type Attempt, type Decision, type McpTarget } from '../model/policy.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { Principal } from '../model/principal.ts';
import type { AllCondition } from './conditions/all.ts';
import { type Verdict, graver, neededScopes, policyDenial } from './conditions/condition.ts';
import { describeValue } from '../lib/json/describe-value.ts';
import type { PolicyDocument } from './document.ts';
import { argumentDenial, takesArguments } from './entry.ts';
import { uncountable } from './history.ts';
import type { PastRule } from './history-rules.ts';
import { type Listing, entriesFor, methodEntry, unlistedDenial } from './listing.ts';

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
}

/** The rule of a call that the policy's own conditions allow, without an entry. */
const ownRule = 'policy';

const allowed: Decision = Object.freeze({ allow: true, rule: ownRule });

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
export function scopesForAttempt(
  { condition, listing }: Rules,
  principal: Principal,
  attempt: Attempt,
): readonly string[] {
  const entries = attempt.kind === 'http' || listing === undefined ? [] : entriesFor(listing, attempt);
  const conditions = 'reason' in entries ? [condition] : [condition, ...entries.map((entry) => entry.condition)];
  try {
    return neededScopes(conditions, principal);
  } catch {
    return [];
  }
}

/** The decision of `mode: shadow`: a denial becomes an allowed call that records it. */
export function inShadow(decision: Decision): Decision {
  return decision.allow ? decision : { allow: true, rule: decision.rule, shadow: decision.denial };
}

function decideOrThrow({ condition, listing, past, because }: Rules, principal: Principal, attempt: Attempt): Decision {
  const own = condition.judge(principal);
  // A refused caller must not learn what is listed.
  if (own === 'refused' || attempt.kind === 'http' || listing === undefined) {
    return own === 'met' ? allowed : denied(policyDenial([condition], own, principal), because);
  }
  const entries = entriesFor(listing, attempt);
  if ('reason' in entries) return denied(unlistedDenial(entries), because);

  let verdict: Verdict = own;
  for (const entry of entries) {
    const judged = entry.condition.judge(principal);
    if (judged === 'refused') return denied(policyDenial([entry.condition], judged, principal), entry.because);
    verdict = graver(verdict, judged);
  }
  // Arguments come after claims and before scopes: a challenge for a call that stays refused would loop.
  if (takesArguments(attempt) && attempt.arguments !== unknownArguments) {
    for (const entry of entries) {
      const denial = argumentDenial(entry.arguments, attempt.arguments);
      if (denial !== undefined) return denied(denial, entry.because);
    }
  }
  const uncounted = past && uncountable(past, entries, principal, attempt);
  if (uncounted !== undefined) return denied(uncounted.denial, uncounted.because);
  if (verdict === 'met') return entries[0]?.allowed ?? allowed;
  const conditions = [condition, ...entries.map((entry) => entry.condition)];
  return denied(policyDenial(conditions, verdict, principal), undefined);
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
