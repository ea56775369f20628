import { Denial } from '../model/denial.ts';
import type { Introspected, Introspector } from './introspection.ts';

/** A server that may know an opaque token. */
export interface TokenAuthority {
  /** Longest reuse of what it says. */
  readonly cacheMs: number;
  /** Whether it may see this opaque token. */
  readonly maySee: (token: string) => boolean;
  /** Undefined where it explains no tokens. */
  readonly introspect: Introspector | undefined;
}

/**
 * Says of an opaque token whether a server may see it: one that has its prefix, or, where it has the prefix of no
 * configured server, one that has none. A server that saw the tokens of another could present them here as its own
 * client.
 *
 * @param prefix Of the server.
 * @param prefixes Of all configured servers, also of those that a route does not trust.
 */
export function createMaySee(prefix: string | undefined, prefixes: readonly string[]): TokenAuthority['maySee'] {
  if (prefix !== undefined) return (token) => token.startsWith(prefix);
  return (token) => !prefixes.some((other) => token.startsWith(other));
}

/**
 * Asks each server in the configured order, or goes by what it said a moment ago. One that is away makes "unknown to
 * the others" no answer.
 *
 * @throws {Denial} `token.inactive` where none knows it, `token.*` of the first that refuses it,
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
  throw new Denial('token.inactive', 'no trusted authorization server knows it as active');
}

/** How long a refusal may be remembered: as long as each of those that were asked allows. */
export function shortestReuse(authorities: readonly TokenAuthority[]): number {
  return Math.min(...authorities.map(({ introspect, cacheMs }) => (introspect === undefined ? Infinity : cacheMs)));
}
