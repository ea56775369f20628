import type { PolicyDenial } from '../model/denial.ts';
import type { Principal } from '../model/principal.ts';
import type { AllCondition, ClaimCondition, Condition } from './condition.ts';
import { describeFound } from './describe-found.ts';
import { type Verdict, judge } from './verdict.ts';

/**
 * The denial of an operation whose conditions have `verdict` together.
 *
 * `scope` lists all that the operation needs, not only what is missing (RFC 6750 §3: "the required scope of the access
 * token"): a client requests exactly these, and would lose the scopes it had. Equal for equal callers, because MCP
 * clients compare challenges to detect a loop.
 */
export function policyDenial(conditions: readonly Condition[], verdict: Verdict, principal: Principal): PolicyDenial {
  const failed = decisive(conditions, verdict, principal);
  const { rule } = failed;
  switch (failed.kind) {
    case 'scope': {
      const scope = neededScopes(conditions, principal);
      const missing = scope.filter((each) => !principal.scopes.has(each));
      const detail = `wanted scope "${scope.join(' ')}", missing "${missing.join(' ')}"`;
      return { reason: 'scope.insufficient', rule, detail, scope };
    }
    case 'claim':
      return { reason: 'claim.denied', rule, detail: claimDetail(failed, principal), scope: [] };
    case 'lifetime':
      return { reason: 'lifetime.exceeded', rule, detail: lifetimeDetail(failed.seconds, principal), scope: [] };
    case 'not': {
      const detail = 'wanted its conditions not to hold, found that they all do';
      return { reason: 'exclusion.matched', rule, detail, scope: [] };
    }
    case 'any': {
      const { alternatives } = failed;
      const details = alternatives.map((each) => policyDenial([each], judge(each, principal), principal).detail);
      const detail = `none of ${alternatives.length} alternatives holds: ${details.join('; ')}`;
      return { reason: 'alternatives.exhausted', rule, detail, scope: [] };
    }
  }
}

/** The first condition with the verdict of all. For a group it is the part, except for alternatives that all fail. */
function decisive(
  conditions: readonly Condition[],
  verdict: Verdict,
  principal: Principal,
): Exclude<Condition, AllCondition> {
  const condition = withVerdict(conditions, verdict, principal);
  if (condition.kind === 'all') return decisive(condition.conditions, verdict, principal);
  if (condition.kind === 'any' && verdict === 'scope') return decisive(condition.alternatives, verdict, principal);
  return condition;
}

/** The first condition that has the verdict of all. */
function withVerdict(conditions: readonly Condition[], verdict: Verdict, principal: Principal): Condition {
  const condition = conditions.find((each) => judge(each, principal) === verdict);
  if (condition === undefined) throw new TypeError(`no condition is ${verdict}`);
  return condition;
}

function claimDetail({ name, read, predicates }: ClaimCondition, principal: Principal): string {
  const found = read(principal.claims);
  const failed = predicates.find(({ test }) => !test(found));
  return `claim ${name}: wanted ${failed?.wanted}, found ${describeFound(found, predicates)}`;
}

/** The lifetime that `max_lifetime` accepts and that of the token, in words. */
export function lifetimeInWords(
  seconds: number,
  { expiresAt, issuedAt }: Principal,
): { readonly wanted: string; readonly found: string } {
  const wanted = `a lifetime (exp - iat) of at most ${seconds} s`;
  if (expiresAt === undefined) return { wanted, found: 'no exp' };
  if (issuedAt === undefined) return { wanted, found: 'no iat' };
  return { wanted, found: `${expiresAt - issuedAt} s` };
}

function lifetimeDetail(seconds: number, principal: Principal): string {
  const { wanted, found } = lifetimeInWords(seconds, principal);
  return `wanted ${wanted}, found ${found}`;
}

/**
 * The scopes that conditions need, without duplicates, in the order of the policy. Conditions under `not` need none.
 */
export function neededScopes(conditions: readonly Condition[], principal: Principal): readonly string[] {
  return [...new Set(conditions.flatMap((each) => scopesIn(each, principal)))];
}

function scopesIn(condition: Condition, principal: Principal): readonly string[] {
  switch (condition.kind) {
    case 'scope':
      return condition.scopes;
    case 'all':
      return neededScopes(condition.conditions, principal);
    case 'any':
      return neededScopes([withVerdict(condition.alternatives, judge(condition, principal), principal)], principal);
    case 'claim':
    case 'lifetime':
    case 'not':
      return [];
  }
}
