import type { Call } from '../model/call.ts';
import type { Denial, Refusal } from '../model/denial.ts';
import type { Dpop, Route } from '../model/route.ts';
import { challenge, dpopChallenge } from './challenge.ts';
import { metadataUrl } from './resource-metadata.ts';

/** Which challenges go with a refusal, each a `WWW-Authenticate` of its own; undefined for none. */
export type Challenges = (call: Call, refusal: Refusal, denial: Denial) => string | [string, string] | undefined;

/** RFC 9110 §11.1: the scheme is case-insensitive. */
const dpopScheme = /^dpop(?: |$)/i;

/** Creates the challenges of a route, RFC 6750 §3 and RFC 9449 §7.1. */
export function createChallenges(route: Route, publicUrl: string): Challenges {
  const bearerOf = createBearerChallenges(route, publicUrl);
  if (route.dpop === undefined) return (_call, refusal, denial) => bearerOf(refusal, denial, false);
  const dpopOf = createDpopChallenges(route, route.dpop, publicUrl);
  return ({ fields: { authorization } }, refusal, denial) => {
    const usedDpop = authorization !== undefined && dpopScheme.test(authorization);
    const bearer = bearerOf(refusal, denial, usedDpop);
    if (bearer === undefined) return undefined;
    const dpop = dpopOf(refusal, denial, usedDpop);
    // Clients that know one scheme look for it at the very beginning. MCP's of the first generation want Bearer there; who
    // retries with a nonce wants DPoP, and would take the other for the end of the token.
    return refusal.error === 'use_dpop_nonce' ? [dpop, bearer] : [bearer, dpop];
  };
}

/** All that does not vary is built once. */
function createBearerChallenges(
  route: Route,
  publicUrl: string,
): (refusal: Refusal, denial: Denial, usedDpop: boolean) => string | undefined {
  const resourceMetadata = metadataUrl(route, publicUrl);
  const begin = challenge({ error: 'invalid_token', scope: route.policy?.scope ?? [], resourceMetadata });
  return (refusal, denial, usedDpop) => {
    if (refusal.error === undefined) return undefined;
    if (refusal.error === 'insufficient_scope') {
      return challenge({ error: 'insufficient_scope', scope: denial.scope, resourceMetadata });
    }
    if (route.protocol === 'mcp') return begin;
    // RFC 6750 §3.1: a request without authentication information, or with another method's, gets no error code.
    return usedDpop || denial.reason === 'credentials.missing' ? 'Bearer' : 'Bearer error="invalid_token"';
  };
}

function createDpopChallenges(
  route: Route,
  { algorithms }: Dpop,
  publicUrl: string,
): (refusal: Refusal, denial: Denial, usedDpop: boolean) => string {
  const resourceMetadata = metadataUrl(route, publicUrl);
  const begin = {
    algorithms,
    scope: route.protocol === 'mcp' ? (route.policy?.scope ?? []) : [],
    resourceMetadata: route.protocol === 'mcp' ? resourceMetadata : undefined,
  };
  return (refusal, denial, usedDpop) => {
    const error = usedDpop ? refusal.error : undefined;
    if (refusal.error !== 'insufficient_scope') return dpopChallenge({ ...begin, error });
    return dpopChallenge({ error, scope: denial.scope, resourceMetadata, algorithms });
  };
}
