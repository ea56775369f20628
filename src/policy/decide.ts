import { unknownArguments, type Attempt, type Decision, type McpTarget, type PolicyDenial } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { AllCondition } from './condition.ts';
import { neededScopes, policyDenial } from './denial.ts';
import { describeValue } from './describe-value.ts';
import { argumentDenial, takesArguments } from './entry.ts';
import { type Listing, entriesFor, methodEntry, unlistedDenial } from './listing.ts';
import { type Verdict, graver, judge } from './verdict.ts';

/** A policy document, compiled. */
export interface Rules {
  /** What every request on the route must meet. */
  readonly condition: AllCondition;
  /** Absent where the policy does not say what may be called: then anything may. */
  readonly listing: Listing | undefined;
}

/** The rule that is told when no entry allowed the call, but the policy's own conditions did. */
const ownRule = 'policy';

const allowed: Decision = Object.freeze({ allow: true, rule: ownRule });

/**
 * Decides by rules that are enforced. Never throws: an error inside is a denial, because what was not decided must not
 * pass.
 */
export function decide(rules: Rules, principal: Principal, attempt: Attempt): Decision {
  try {
    return decideOrThrow(rules, principal, attempt);
  } catch (error) {
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : `${describeValue(error)} was thrown`;
    return denied({ reason: 'policy.error', rule: ownRule, detail, scope: [] });
  }
}

/**
 * All scopes that an attempt needs, in the order of a challenge: what a later stage adds its own to. Of a condition that
 * cannot be evaluated (it passed in shadow) none are known.
 */
export function scopesOf({ condition, listing }: Rules, principal: Principal, attempt: Attempt): readonly string[] {
  const entries = attempt.kind === 'http' || listing === undefined ? [] : entriesFor(listing, attempt);
  const conditions = 'reason' in entries ? [condition] : [condition, ...entries.map((entry) => entry.condition)];
  try {
    return neededScopes(conditions, principal);
  } catch {
    return [];
  }
}

/** Lets pass what would be denied, and says so; `mode: shadow`. */
export function inShadow(decision: Decision): Decision {
  return decision.allow ? decision : { allow: true, rule: decision.rule, shadow: decision.denial };
}

function decideOrThrow({ condition, listing }: Rules, principal: Principal, attempt: Attempt): Decision {
  const own = judge(condition, principal);
  // Refused callers learn nothing of what is listed.
  if (own === 'refused' || attempt.kind === 'http' || listing === undefined) {
    return own === 'met' ? allowed : denied(policyDenial([condition], own, principal));
  }
  const entries = entriesFor(listing, attempt);
  if ('reason' in entries) return denied(unlistedDenial(entries));

  let verdict: Verdict = own;
  for (const entry of entries) verdict = graver(verdict, judge(entry.condition, principal));
  // Arguments come after claims and before scopes: a challenge for a call that stays refused would loop.
  if (verdict !== 'refused' && takesArguments(attempt) && attempt.arguments !== unknownArguments) {
    for (const entry of entries) {
      const denial = argumentDenial(entry.arguments, attempt.arguments);
      if (denial !== undefined) return denied(denial);
    }
  }
  if (verdict === 'met') return entries[0]?.allowed ?? allowed;
  const conditions = [condition, ...entries.map((entry) => entry.condition)];
  return denied(policyDenial(conditions, verdict, principal));
}

function denied(denial: PolicyDenial): Decision {
  return { allow: false, rule: denial.rule, denial };
}

/**
 * Whether some token of this caller could call it, for `lists: filter`: what lacks only a scope stays visible, so that
 * step-up can be found, and so does what lacks only a shorter life. Arguments are not known before the call.
 */
export function couldCall({ condition, listing }: Rules, principal: Principal, { kind, name }: McpTarget): boolean {
  try {
    if (judge(condition, principal) === 'refused') return false;
    if (listing === undefined) return true;
    const entry = listing[kind]?.(name);
    if (entry === undefined || judge(entry.condition, principal) === 'refused') return false;
    const method = methodEntry(listing, kind);
    return method === undefined || judge(method.condition, principal) !== 'refused';
  } catch {
    // As in `decide`: what cannot be evaluated would be denied.
    return false;
  }
}
