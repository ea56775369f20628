import { Denial } from '../../model/denial.ts';
import type { Action, Grant } from '../../model/grant.ts';
import type { Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';

/** Decides on a call. A guard: it throws, so that a forgotten `if` fails closed. */
export type Authorize = (principal: Principal | undefined, action: Action) => Grant;

const anyValidToken = { allow: true, rule: '' } as const;

/**
 * Creates the decision of a route. It caches nothing, so that a new policy applies to cached tokens too.
 *
 * @returns a function that throws {Denial} with the policy's own reason.
 */
export function createAuthorize(route: Route): Authorize {
  const { policy } = route;
  if (route.public || policy === undefined) {
    return (principal, action) => {
      requirePrincipal(route, principal);
      return { principal, action, decision: anyValidToken };
    };
  }
  return (principal, action) => {
    const caller = requirePrincipal(route, principal);
    const decision = policy.decide(caller as Principal, action.attempt);
    if (decision.allow) return { principal, action, decision };
    const { reason, detail, ...extras } = decision.denial;
    throw new Denial(reason, detail, extras);
  };
}

/** Only a public route serves without a principal. On any other route a missing one is a bug, and must not pass. */
function requirePrincipal(route: Route, principal: Principal | undefined): Principal | undefined {
  if (principal === undefined && !route.public) throw new TypeError(`route ${route.name}: no principal`);
  return principal;
}
