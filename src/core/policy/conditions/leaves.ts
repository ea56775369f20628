import { millisecondsOf, rulePath, type ValueDocument } from '../document.ts';
import {
  type ClaimRead,
  type Condition,
  type ConditionContext,
  type LeafCondition,
  leafCondition,
  neededAuthentication,
  neededScopes,
  type Verdict,
} from './condition.ts';
import type { RequiredAuthentication } from '../../model/denial.ts';
import type { GatewayClaimName } from '../../model/gateway-claims.ts';
import type { Principal } from '../../model/principal.ts';
import { compilePredicates, describeFound, wantedBy } from '../predicate.ts';
import { describeValue } from '../../lib/json/describe-value.ts';
import { compileClaim, exactClaim, isElsewhere } from '../claim.ts';

/**
 * `scope`: the caller has every scope.
 *
 * Its denial lists all scopes that the operation needs, not only what is missing (RFC 6750 §3: "the required scope of
 * the access token"): a client requests exactly these, and would lose the scopes it had. Equal for equal callers,
 * because MCP clients compare challenges to detect a loop.
 */
export function compileScope(
  written: string | readonly string[],
  { path }: Pick<ConditionContext, 'path'>,
): LeafCondition {
  const scopes = scopeTokens(written);
  return leafCondition({
    kind: 'scope',
    rule: rulePath(path),
    reason: 'scope.insufficient',
    unmet: 'scope',
    reads: { scopes },
    judge(principal) {
      for (const scope of scopes) if (!principal.scopes.has(scope)) return 'scope';
      return 'met';
    },
    words: (principal) => ({
      wanted: `scope "${scopes.join(' ')}"`,
      found: principal.scopes.size === 0 ? 'no scope' : `"${[...principal.scopes].join(' ')}"`,
    }),
    denialWords(principal, applied) {
      const scope = neededScopes(applied, principal);
      const missing = scope.filter((token) => !principal.scopes.has(token));
      return { detail: `wanted scope "${scope.join(' ')}", missing "${missing.join(' ')}"`, scope };
    },
  });
}

/** A policy's `scope` as a list without duplicates, in the order in which it is written. */
export function scopeTokens(scope: string | readonly string[]): readonly string[] {
  return Object.freeze([...new Set(typeof scope === 'string' ? scope.split(' ') : scope)]);
}

/** `acr`: the caller signed in by one of these ways, RFC 9470 §4. */
export function compileAcr(written: string | readonly string[], context: ConditionContext): LeafCondition {
  const acrValues = typeof written === 'string' ? [written] : written;
  const wanted = `acr ${acrValues.join(' or ')}`;
  return authenticationCondition({ name: 'acr', value: { one_of: acrValues }, wanted, needed: { acrValues } }, context);
}

/** `max_age`: the caller signed in at most this long ago, RFC 9470 §4. */
export function compileMaxAge(written: string, context: ConditionContext): LeafCondition {
  // RFC 9470 §3: whole seconds.
  const maxAge = Math.floor(durationSeconds(written));
  const wanted = `a sign-in (auth_time) at most ${maxAge} s ago`;
  const value = { at_most: maxAge };
  return authenticationCondition({ name: 'authenticated_ago', value, wanted, needed: { maxAge } }, context);
}

interface SignIn {
  /** The claim that says it. */
  readonly name: 'acr' | GatewayClaimName;
  readonly value: ValueDocument;
  readonly wanted: string;
  readonly needed: RequiredAuthentication;
}

/** A condition on one claim whose failure a new sign-in mends. */
function authenticationCondition({ name, value, wanted, needed }: SignIn, context: ConditionContext): LeafCondition {
  const { path, faults, reading } = context;
  const claim = {
    name,
    read: compileClaim(name, path, faults),
    predicates: compilePredicates(value, path, faults, reading),
  };
  return leafCondition({
    kind: 'claim',
    rule: rulePath(path),
    reason: 'authentication.insufficient',
    unmet: 'authentication',
    reads: { claims: [claim], authentication: needed },
    judge: judgeOf(claim, 'authentication'),
    words: (principal) => ({ reads: name, wanted, found: foundIn(claim, principal) }),
    denialWords(principal, applied) {
      const scopes = neededScopes(applied, principal);
      const isScopeMissing = scopes.some((scope) => !principal.scopes.has(scope));
      return {
        detail: `wanted ${wanted}, found ${foundIn(claim, principal)}`,
        scope: isScopeMissing ? scopes : [],
        authentication: neededAuthentication(applied, principal),
      };
    },
  });
}

/** `claims`: each claim is as its predicates want. */
export function compileClaims(
  written: Readonly<Record<string, ValueDocument>>,
  { path, faults, reading }: ConditionContext,
): readonly LeafCondition[] {
  return Object.entries(written).map(([name, value]) => {
    const at = [...path, name];
    const read = compileClaim(name, at, faults);
    return claimCondition(rulePath(at), { name, read, predicates: compilePredicates(value, at, faults, reading) });
  });
}

/** The condition that one claim is as its predicates want. */
export function claimCondition(rule: string, claim: ClaimRead): LeafCondition {
  const { name, read, predicates } = claim;
  return leafCondition({
    kind: 'claim',
    rule,
    reason: 'claim.denied',
    unmet: 'refused',
    reads: { claims: [claim] },
    judge: judgeOf(claim, 'refused'),
    words: (principal) => ({
      reads: name,
      wanted: `claim ${name}: ${wantedBy(predicates, { caller: principal, show: describeValue })}`,
      found: foundIn(claim, principal),
    }),
    denialWords(principal) {
      const value = read(principal.claims);
      const exact = exactClaim(name, read, principal);
      const failed = predicates.filter(({ test }) => !test(value, principal, exact)).slice(0, 1);
      const wanted = wantedBy(failed, { caller: principal, show: describeValue });
      return { detail: `claim ${name}: wanted ${wanted}, found ${foundIn(claim, principal)}`, scope: [] };
    },
  });
}

function judgeOf({ name, read, predicates }: ClaimRead, unmet: Verdict): Condition['judge'] {
  return (principal) => {
    const value = read(principal.claims);
    const exact = principal.exactClaims === undefined ? value : exactClaim(name, read, principal);
    for (const { test } of predicates) if (!test(value, principal, exact)) return unmet;
    return 'met';
  };
}

function foundIn({ name, read, predicates }: ClaimRead, principal: Principal): string {
  const { claims } = principal;
  if (isElsewhere(claims, name)) return 'a claim that the token leaves to another source (_claim_names, hasgroups)';
  return describeFound(read(claims), predicates, principal);
}

/** `max_lifetime`: the token was issued for at most this time. */
export function compileLifetime(
  written: string,
  { path, reading }: Pick<ConditionContext, 'path' | 'reading'>,
): LeafCondition {
  const seconds = durationSeconds(written);
  const unknown = reading === 'cautious' ? 'met' : 'lifetime';
  return leafCondition({
    kind: 'lifetime',
    rule: rulePath(path),
    reason: 'lifetime.exceeded',
    unmet: 'lifetime',
    reads: { lifetimes: [seconds] },
    judge({ expiresAt, issuedAt }) {
      if (expiresAt === undefined || issuedAt === undefined) return unknown;
      const lifetime = expiresAt - issuedAt;
      // A negative lifetime is a mistake of the server and does not prove that the token is short-lived.
      return lifetime >= 0 && lifetime <= seconds ? 'met' : 'lifetime';
    },
    words({ expiresAt, issuedAt }) {
      const wanted = `a lifetime (exp - iat) of at most ${seconds} s`;
      if (expiresAt === undefined) return { wanted, found: 'no exp' };
      if (issuedAt === undefined) return { wanted, found: 'no iat' };
      return { wanted, found: `${expiresAt - issuedAt} s` };
    },
  });
}

/** Seconds of a duration, as {@link millisecondsOf}. */
export function durationSeconds(duration: string): number {
  return millisecondsOf(duration) / 1000;
}
