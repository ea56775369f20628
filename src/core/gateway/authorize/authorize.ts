import type { Clock } from '../../lib/clock.ts';
import { Denial } from '../../model/denial.ts';
import type { Action, Grant } from '../../model/grant.ts';
import { withGatewayClaims } from '../../model/gateway-claims.ts';
import type { Principal } from '../../model/principal.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { hasCaseVariantAt } from '../../lib/json/own-member.ts';
import type { Call } from '../../model/call.ts';
import { argumentsOf } from '../../model/policy.ts';

const anyValidToken = { allow: true, rule: '', plan: undefined } as const;

/**
 * Creates the decision of a route, as a guard: a forgotten `if` fails closed. It caches nothing, so that a new policy
 * applies to cached tokens too.
 *
 * @param isAsked Whether a capability reads all arguments of a call; default: the policy alone reads them.
 * @returns a function that throws {Denial} with the policy's own reason, or `body.ambiguous` where an argument is read
 *   whose key has a variant in another case.
 */
export function createAuthorize(
  route: Pick<Endpoint, 'name' | 'policy' | 'public'>,
  clock: Clock,
  isAsked = false,
): (principal: Principal | undefined, action: Action) => Grant {
  const { policy } = route;
  if (policy === undefined) {
    return (principal, action) => {
      if (!route.public) requirePrincipal(route, principal);
      if (isAsked) requireReadAlike(action, wholeArguments);
      return { principal, action, decision: anyValidToken };
    };
  }
  const { readsGatewayClaims } = policy;
  return (verified, action) => {
    requirePrincipal(route, verified);
    const principal = readsGatewayClaims ? withGatewayClaims(verified, clock) : verified;
    const decision = policy.decide(principal, action.attempt);
    if (!decision.allow) throw Denial.of(decision.denial);
    if (action.hasArgumentVariants === true)
      requireReadAlike(action, isAsked ? wholeArguments : decision.plan.argumentsRead(action.attempt));
    return { principal, action, decision };
  };
}

const wholeArguments = [[]];

/**
 * The guarantee that the upstream finds the arguments that were decided on. Many servers ignore the case of keys.
 *
 * @throws {Denial} `body.ambiguous`
 */
export function requireReadAlike(
  action: Pick<Action, 'hasArgumentVariants' | 'attempt' | 'messageId'>,
  paths: readonly (readonly string[])[],
): void {
  const { hasArgumentVariants = false, attempt, messageId } = action;
  if (!hasArgumentVariants || !paths.some((path) => hasCaseVariantAt(argumentsOf(attempt), path))) return;
  throw new Denial('body.ambiguous', 'an argument that is read has a key that differs from another only in case', {
    messageId,
  });
}

/** Only a public route serves without a principal. On any other route a missing one is a bug, and must not pass. */
function requirePrincipal(
  { name }: Pick<Endpoint, 'name'>,
  principal: Principal | undefined,
): asserts principal is Principal {
  if (principal === undefined) throw new TypeError(`route ${name}: no principal`);
}

const httpAction: Action = {
  attempt: { kind: 'http' },
  messageId: null,
  era: undefined,
  sessionId: undefined,
  lastEventId: undefined,
  mcpName: undefined,
  mayYieldHandle: false,
  asksByUrl: false,
  trace: undefined,
  tasks: undefined,
  continues: undefined,
  body: undefined,
};

/** Creates the reader of calls of an HTTP endpoint: the header section decides. */
export function createRequestReader({ policy }: Pick<Endpoint, 'policy'>): (call: Call) => Action {
  if (policy?.listsRequests !== true) return () => httpAction;
  // The path is the canonical one, which the upstream gets too.
  return ({ method, path }) => ({ ...httpAction, attempt: { kind: 'http', request: `${method} ${path}` } });
}
