import { Denial } from '../model/denial.ts';
import type { Grant } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Policy } from '../model/policy.ts';
import type { TokenExchange } from '../model/route.ts';

/**
 * Why an exchange did not bring the scopes that it must. `exchange.insufficient_scope`, which a client can mend, where
 * the server that refuses them is the one that issued the caller's token, and left them out of that: a new token with
 * them could be exchanged. Anything else is between us and that server.
 *
 * @param missing What the answer lacks; undefined: the server did not say which (`invalid_scope`).
 */
export function scopeDenial(exchange: TokenExchange, principal: Principal, missing?: readonly string[]): Denial {
  // Without what the configured hierarchy implies: the server that exchanges does not know it.
  const held = new Set(principal.grantedScopes);
  const mendable = (missing ?? exchange.scope).filter((scope) => !held.has(scope));
  const all = missing === undefined ? mendable.length > 0 : mendable.length === missing.length;
  const what =
    missing === undefined
      ? `the exchange was refused with invalid_scope for "${exchange.scope.join(' ')}"`
      : `the exchange granted no "${missing.join(' ')}"`;
  if (all && principal.issuer === exchange.server.issuer) {
    return new Denial(
      'exchange.insufficient_scope',
      `${what}; the caller's token has no "${mendable.join(' ')}" either`,
    );
  }
  return new Denial('exchange.scope', what);
}

/** A refusal for one operation: the challenge names all that this operation needs, ours last. */
export function withNeededScopes(
  denial: Denial,
  exchange: TokenExchange,
  policy: Policy | undefined,
  { principal, action }: Grant,
): Denial {
  const needed = principal === undefined ? undefined : policy?.neededScopes(principal, action.attempt);
  const scope = [...new Set([...(needed ?? []), ...exchange.scope])];
  return new Denial(denial.reason, denial.detail, { scope });
}
