import type { Clock } from '../../lib/clock.ts';
import { Denial } from '../../model/denial.ts';
import type { Action, Grant } from '../../model/grant.ts';
import { AUTHENTICATED_AGO, type Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';

/** Decides on a call. A guard: it throws, so that a forgotten `if` fails closed. */
export type Authorize = (principal: Principal | undefined, action: Action) => Grant;

const anyValidToken = { allow: true, rule: '', plan: undefined } as const;

/**
 * Creates the decision of a route. It caches nothing, so that a new policy applies to cached tokens too.
 *
 * @returns a function that throws {Denial} with the policy's own reason.
 */
export function createAuthorize(route: Route, clock: Clock): Authorize {
  const { policy } = route;
  if (route.public || policy === undefined) {
    return (principal, action) => {
      if (!route.public) requirePrincipal(route, principal);
      return { principal, action, decision: anyValidToken };
    };
  }
  const { readsAuthentication } = policy;
  return (verified, action) => {
    requirePrincipal(route, verified);
    const principal = readsAuthentication ? withSignInAge(verified, clock) : verified;
    const decision = policy.decide(principal, action.attempt);
    if (decision.allow) return { principal, action, decision };
    throw Denial.of(decision.denial);
  };
}

/** How far the clock of an authorization server may be ahead: a later sign-in would never be too old. */
const MAX_SKEW_SECONDS = 60;

/** The principal, with how long ago the sign-in was: what `max_age` reads. */
export function withSignInAge(principal: Principal, clock: Clock): Principal {
  const { [AUTHENTICATED_AGO]: _, ...claims } = principal.claims;
  const { auth_time: authTime } = claims;
  const ago = typeof authTime === 'number' ? clock() / 1000 - authTime : Number.NaN;
  if (!(ago >= -MAX_SKEW_SECONDS)) return { ...principal, claims };
  return { ...principal, claims: { ...claims, [AUTHENTICATED_AGO]: Math.max(0, Math.ceil(ago)) } };
}

/** Only a public route serves without a principal. On any other route a missing one is a bug, and must not pass. */
function requirePrincipal({ name }: Route, principal: Principal | undefined): asserts principal is Principal {
  if (principal === undefined) throw new TypeError(`route ${name}: no principal`);
}
