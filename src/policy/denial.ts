import type { PolicyDenial } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { ClaimCondition, Condition } from './condition.ts';
import { shown } from './shown.ts';
import { type Verdict, judge } from './verdict.ts';

type Failure = Omit<PolicyDenial, 'scope'>;

/**
 * Puts into words why an operation's condition, of which {@link judge} said `verdict`, was not met.
 *
 * `scope` lists all that the operation needs, not only what is missing (RFC 6750 §3: "the required scope of the access
 * token"): a client asks for exactly what it is told, and would lose what it had. Equal for equal callers, because MCP
 * clients compare challenges to detect a loop.
 */
export function policyDenial(
  condition: Condition,
  verdict: Exclude<Verdict, 'met'>,
  principal: Principal,
): PolicyDenial {
  const failure = firstFailure(condition, verdict, principal);
  if (verdict !== 'scope') return { ...failure, scope: [] };
  const scope = [...neededScopes(condition, principal)];
  const missing = scope.filter((each) => !principal.scopes.has(each));
  const detail = `wanted scope "${scope.join(' ')}", missing "${missing.join(' ')}"`;
  return { ...failure, detail, scope };
}

function firstFailure(condition: Condition, verdict: Verdict, principal: Principal): Failure {
  const { rule } = condition;
  switch (condition.kind) {
    case 'scope':
      return { reason: 'scope.insufficient', rule, detail: `wanted scope "${condition.scopes.join(' ')}"` };
    case 'claim':
      return { reason: 'claim.denied', rule, detail: claimDetail(condition, principal) };
    case 'lifetime':
      return { reason: 'lifetime.exceeded', rule, detail: lifetimeDetail(condition.seconds, principal) };
    case 'not':
      return { reason: 'exclusion.matched', rule, detail: 'wanted its conditions not to hold, found that they all do' };
    case 'all':
      return firstFailure(withVerdict(condition.conditions, verdict, principal), verdict, principal);
    case 'any': {
      const { alternatives } = condition;
      if (verdict === 'scope') return firstFailure(withVerdict(alternatives, verdict, principal), verdict, principal);
      const details = alternatives.map((each) => firstFailure(each, judge(each, principal), principal).detail);
      const detail = `none of ${alternatives.length} alternatives holds: ${details.join('; ')}`;
      return { reason: 'alternatives.exhausted', rule, detail };
    }
    default:
      throw new TypeError(`${String(condition satisfies never)} is not a condition`);
  }
}

/** The first of several with the verdict that they have together. */
function withVerdict(conditions: readonly Condition[], verdict: Verdict, principal: Principal): Condition {
  const condition = conditions.find((each) => judge(each, principal) === verdict);
  if (condition === undefined) throw new TypeError(`no condition is ${verdict}`);
  return condition;
}

function claimDetail({ name, read, predicates }: ClaimCondition, principal: Principal): string {
  const found = read(principal.claims);
  const failed = predicates.find(({ test }) => !test(found));
  return `claim ${name}: wanted ${failed?.wanted}, found ${shown(found)}`;
}

/** What `max_lifetime` wants and what a token has. */
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

/** In the order of the policy: a condition's own before those of its parts. Excluded conditions need nothing. */
export function neededScopes(
  condition: Condition,
  principal: Principal,
  needed: Set<string> = new Set(),
): ReadonlySet<string> {
  switch (condition.kind) {
    case 'scope':
      for (const scope of condition.scopes) needed.add(scope);
      break;
    case 'all':
      for (const each of condition.conditions) neededScopes(each, principal, needed);
      break;
    case 'any':
      neededScopes(withVerdict(condition.alternatives, judge(condition, principal), principal), principal, needed);
      break;
    case 'claim':
    case 'lifetime':
    case 'not':
      break;
  }
  return needed;
}
