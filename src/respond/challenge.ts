/** The parameters of a Bearer challenge, RFC 6750 §3 and RFC 9728 §5.1. */
export interface ChallengeParameters {
  readonly error: 'invalid_token' | 'insufficient_scope';
  readonly scope: readonly string[];
  /** URL of the protected resource metadata. */
  readonly resourceMetadata: string | undefined;
}

/**
 * The value of `WWW-Authenticate`, alone in its header, its parameters always in this order: the official v1 client
 * compares the whole value to notice a loop, so that the same operation must give the same bytes each time.
 *
 * An empty scope is left out: RFC 6750 §3 has no empty list, and clients take `scope=""` for a value.
 */
export function challenge({ error, scope, resourceMetadata }: ChallengeParameters): string {
  const parameters = [`error="${error}"`];
  if (scope.length > 0) parameters.push(`scope="${scope.join(' ')}"`);
  if (resourceMetadata !== undefined) parameters.push(`resource_metadata="${resourceMetadata}"`);
  return `Bearer ${parameters.join(', ')}`;
}
