import { Denial } from '../../model/denial.ts';
import type { Action, Grant } from '../../model/grant.ts';
import type { Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';

/** Decides on a call. A guard: it throws, so that a forgotten `if` fails closed. */
export type Authorize = (principal: Principal | undefined, action: Action) => Grant;

const anyValidToken = { allow: true, rule: '', plan: undefined } as const;

/**
 * Creates the decision of a route. It caches nothing, so that a new policy applies to cached tokens too.
 *
 * @returns a function that throws {Denial} with the policy's own reason.
 */
export function createAuthorize(route: Route): Authorize {
  const { policy } = route;
  if (route.public || policy === undefined) {
    return (principal, action) => {
      if (!route.public) requirePrincipal(route, principal);
      return { principal, action, decision: anyValidToken };
    };
  }
  return (principal, action) => {
    requirePrincipal(route, principal);
    const decision = policy.decide(principal, action.attempt);
    if (decision.allow) return { principal, action, decision };
    throw Denial.of(decision.denial);
  };
}

/** Only a public route serves without a principal. On any other route a missing one is a bug, and must not pass. */
function requirePrincipal({ name }: Route, principal: Principal | undefined): asserts principal is Principal {
  if (principal === undefined) throw new TypeError(`route ${name}: no principal`);
}
