import type { ChallengeError } from '../model/denial.ts';

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
export function challenge(parameters: ChallengeParameters): string {
  return `Bearer ${written(parameters).join(', ')}`;
}

/** The value of a `WWW-Authenticate` for DPoP; beside {@link challenge} a header line of its own. */
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
