import type { Call } from '../model/call.ts';
import type { ChallengeError, Denial, Refusal } from '../model/denial.ts';
import type { Dpop, Route } from '../model/route.ts';
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
  const begin = bearerChallenge({ error: 'invalid_token', scope: route.policy?.scope ?? [], resourceMetadata });
  return (refusal, denial, usedDpop) => {
    if (refusal.error === undefined) return undefined;
    if (refusal.error === 'insufficient_scope') {
      return bearerChallenge({ error: 'insufficient_scope', scope: denial.scope, resourceMetadata });
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

/** The parameters of a Bearer challenge, RFC 6750 §3 and RFC 9728 §5.1. */
export interface ChallengeParameters {
  readonly error: 'invalid_token' | 'insufficient_scope';
  readonly scope: readonly string[];
  /** URL of the protected resource metadata. */
  readonly resourceMetadata: string | undefined;
}

/** The parameters of a DPoP challenge, RFC 9449 §7.1. */
export interface DpopChallengeParameters extends Omit<ChallengeParameters, 'error'> {
  /** Undefined for a request that did not use the scheme. */
  readonly error: ChallengeError | undefined;
  /** `algs`. */
  readonly algorithms: readonly string[];
}

/**
 * The value of `WWW-Authenticate`, alone in its header, its parameters always in this order: the official v1 client
 * compares the whole value to notice a loop, so that the same operation must give the same bytes each time.
 *
 * An empty scope is left out: RFC 6750 §3 has no empty list, and clients take `scope=""` for a value.
 */
export function bearerChallenge(parameters: ChallengeParameters): string {
  return `Bearer ${written(parameters).join(', ')}`;
}

/** The value of a `WWW-Authenticate` for DPoP; beside {@link bearerChallenge} a header line of its own. */
export function dpopChallenge({ algorithms, ...parameters }: DpopChallengeParameters): string {
  return `DPoP ${[...written(parameters), `algs="${algorithms.join(' ')}"`].join(', ')}`;
}

function written({ error, scope, resourceMetadata }: Omit<DpopChallengeParameters, 'algorithms'>): string[] {
  const parameters: string[] = [];
  if (error !== undefined) parameters.push(`error="${error}"`);
  if (scope.length > 0) parameters.push(`scope="${scope.join(' ')}"`);
  if (resourceMetadata !== undefined) parameters.push(`resource_metadata="${resourceMetadata}"`);
  return parameters;
}
