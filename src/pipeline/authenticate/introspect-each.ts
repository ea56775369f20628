import { Denial } from '../../model/denial.ts';
import type { Introspected, Introspector } from './introspection.ts';
import { encryptedToken, isEncrypted } from './jwt.ts';

/** A server that may have issued an opaque token. */
export interface TokenAuthority {
  /** The longest reuse of its answers. */
  readonly cacheMs: number;
  /** Whether the gateway may show it this opaque token. */
  readonly maySee: (token: string) => boolean;
  /** Undefined if it introspects no tokens. */
  readonly introspect: Introspector | undefined;
}

/**
 * Creates the check whether a server may see an opaque token: if the token has the server's prefix, or, for a server
 * without a prefix, if it has the prefix of no configured server. Otherwise a server could collect the tokens of
 * another server and use them here as its own client.
 *
 * @param prefix The prefix of the server.
 * @param prefixes The prefixes of all configured servers, also of those that the route does not trust.
 */
export function createMaySee(prefix: string | undefined, prefixes: readonly string[]): TokenAuthority['maySee'] {
  if (prefix !== undefined) return (token) => token.startsWith(prefix);
  return (token) => !prefixes.some((other) => token.startsWith(other));
}

/**
 * Introspects a token at each server in the configured order until one knows it. While one server is unavailable, "not
 * active" from the others is no answer.
 *
 * @throws {Denial} `token.inactive` if no server knows it, `token.*` of the first that refuses it,
 *   `authorization_server.unavailable`.
 */
export async function introspectAtEach(
  token: string,
  authorities: readonly TokenAuthority[],
  by: keyof Introspector,
  onBehalfOf?: string,
): Promise<Introspected> {
  let unavailable: unknown;
  for (const { introspect } of authorities) {
    if (introspect === undefined) continue;
    try {
      const introspected = await introspect[by](token, onBehalfOf);
      if (introspected !== undefined) return introspected;
    } catch (error) {
      if (!(error instanceof Denial) || error.reason !== 'authorization_server.unavailable') throw error;
      unavailable = error;
    }
  }
  if (unavailable !== undefined) throw unavailable;
  const detail = 'no trusted authorization server reports it as active';
  throw new Denial('token.inactive', isEncrypted(token) ? `${detail}: ${encryptedToken}` : detail);
}

/** How long a refusal may be cached: the shortest time that the introspected servers allow. */
export function shortestReuse(authorities: readonly TokenAuthority[]): number {
  return Math.min(...authorities.map(({ introspect, cacheMs }) => (introspect === undefined ? Infinity : cacheMs)));
}
