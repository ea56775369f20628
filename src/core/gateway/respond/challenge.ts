import type { Call } from '../../model/call.ts';
import type { Denial } from '../../model/denial.ts';
import { type ChallengeError, isStepUp, type Refusal } from '../../model/refusal.ts';
import { firstScopes, requestedScopes } from '../../model/route.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { metadataUrl } from './resource-metadata.ts';

/** The challenges of a refusal, each the value of one `WWW-Authenticate`; undefined where no token would help. */
export type Challenges = (
  call: { readonly fields: Pick<Call['fields'], 'authorization'> },
  refusal: Refusal,
  denial: Pick<Denial, 'reason' | 'scope' | 'authentication'>,
) => string | [string, string] | undefined;

/** RFC 9110 §11.1: the scheme is case-insensitive. */
const dpopScheme = /^dpop(?: |$)/i;

/** Creates the challenges of a route, RFC 6750 §3 and RFC 9449 §7.1. */
export function createChallenges(route: Endpoint, publicUrl: string): Challenges {
  const resourceMetadata = metadataUrl(route, publicUrl);
  const isMcp = route.protocol === 'mcp';
  /** The parameters for a client that has to begin. Without `first_challenge`, an API without MCP gives it none. */
  const begin = {
    scope: requestedScopes(route, firstScopes(route)),
    resourceMetadata: isMcp || route.isOwn ? resourceMetadata : undefined,
  };
  const beginAnyhow = challenge('Bearer', begin);
  const invalidBearer = challenge('Bearer', { ...begin, error: 'invalid_token' });

  /** RFC 6750 and RFC 9470 have errors of their own for what a new token can bring; the rest asks for a new one. */
  const bearerFor = (error: ChallengeError, omitsError: boolean, needed: ChallengeParameters): string => {
    if (isStepUp(error)) return challenge('Bearer', { ...needed, error });
    return omitsError ? beginAnyhow : invalidBearer;
  };

  return ({ fields: { authorization = '' } }, { error }, denial) => {
    if (error === undefined) return undefined;
    const usedDpop = route.proofs !== undefined && dpopScheme.test(authorization);
    // RFC 6750 §3.1: a request without authentication information, or with another scheme, gets no error code.
    const omitsError = !isMcp && (usedDpop || denial.reason === 'credentials.missing');
    const needed = { ...denial.authentication, scope: requestedScopes(route, denial.scope), resourceMetadata };
    const bearer = bearerFor(error, omitsError, needed);
    if (route.proofs === undefined) return bearer;
    const { algorithms } = route.proofs;
    const parameters = isStepUp(error) ? needed : begin;
    const dpop = challenge('DPoP', { ...parameters, error: usedDpop ? error : undefined, algorithms });
    // Clients that know one scheme look for it at the start of the value. The first generation of MCP clients looks for
    // Bearer there. A client that retries with a nonce looks for DPoP, and would read Bearer as an invalid token.
    return error === 'use_dpop_nonce' ? [dpop, bearer] : [bearer, dpop];
  };
}

/** The parameters of a challenge, RFC 6750 §3, RFC 9728 §5.1 and RFC 9449 §7.1. */
interface ChallengeParameters {
  /** Undefined for a request that did not use the scheme. */
  readonly error?: ChallengeError | undefined;
  /** `acr_values`, RFC 9470 §3. */
  readonly acrValues?: readonly string[];
  /** `max_age` in seconds, RFC 9470 §3. */
  readonly maxAge?: number;
  /** RFC 6750 §3 has no empty list, and clients take `scope=""` for a value: an empty one is left out. */
  readonly scope?: readonly string[];
  /** URL of the protected resource metadata. */
  readonly resourceMetadata?: string | undefined;
  /** `algs`, for DPoP. */
  readonly algorithms?: readonly string[];
}

/**
 * The value of one `WWW-Authenticate`. The order of the parameters is fixed: the official v1 client compares the whole
 * value to notice a loop, so that the same operation must give the same bytes each time.
 */
export function challenge(scheme: 'Bearer' | 'DPoP', parameters: ChallengeParameters): string {
  const { error, acrValues, maxAge, scope = [], resourceMetadata, algorithms } = parameters;
  const written: readonly (readonly [name: string, value: string | undefined])[] = [
    ['error', error],
    ['acr_values', acrValues?.join(' ')],
    ['max_age', maxAge?.toString()],
    ['scope', scope.length === 0 ? undefined : scope.join(' ')],
    ['resource_metadata', resourceMetadata],
    ['algs', algorithms?.join(' ')],
  ];
  const texts = written.flatMap(([name, value]) => (value === undefined ? [] : `${name}="${value}"`));
  return texts.length === 0 ? scheme : `${scheme} ${texts.join(', ')}`;
}
