import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../model/authorization-server.ts';
import { Denial, isTokenDenial } from '../model/denial.ts';
import type { Grant, PresentedToken } from '../model/grant.ts';
import type { Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { TokenExchange } from '../model/route.ts';
import {
  errorCodeOf,
  keptUntil,
  readIssuedToken,
  requireIssuedType,
  tokenEndpoint,
  tokenTypes,
} from './issued-token.ts';
import type { NewCredential } from './memory.ts';
import type { OwnToken } from './own-token.ts';

/** What one exchange needs besides its subject token. */
export interface ExchangeParts {
  readonly client: AuthorizationServerClient;
  /** Undefined: nobody is named as the actor. */
  readonly actor: OwnToken | undefined;
  /** Asks about a token past every cache, and forgets one that does not hold. */
  readonly revalidate: (token: PresentedToken) => Promise<unknown>;
  readonly clock: Clock;
}

/**
 * Asks for a new token with the caller's as the subject token, RFC 8693 §2.
 *
 * @returns a function that throws {Denial} `token.*` where the caller's token does not hold, `exchange.*` for any other
 *   refusal, `authorization_server.unavailable` where nobody answers.
 */
export function createTokenExchange(
  exchange: TokenExchange,
  { client, actor, revalidate, clock }: ExchangeParts,
): (token: PresentedToken, principal: Principal) => Promise<NewCredential> {
  const fixed = fixedParameters(exchange);

  return async (token, principal) => {
    const endpoint = await tokenEndpoint(exchange, client);
    const form = new URLSearchParams(fixed);
    form.set('subject_token', token.value);
    if (actor !== undefined) {
      form.set('actor_token', await actor.get());
      form.set('actor_token_type', tokenTypes.access_token);
    }
    const askedAt = clock();
    const answer = await client.post('exchange', endpoint, form, exchange.credentials, {
      onBehalfOf: principal.callerKey ?? principal.issuer,
    });
    if (answer.status !== 200) throw await refusal(answer, token, principal);

    requireIssuedType(answer.body, exchange.requestedTokenType);
    const issued = readIssuedToken(answer.body, askedAt);
    // With the one an upstream could call as the client, with the other act as the gateway.
    if (issued.accessToken === token.value || issued.accessToken === form.get('actor_token')) {
      throw new Denial('exchange.invalid', 'the answer is the subject token or the actor token itself');
    }
    requireScope(issued.scope, principal);
    // Never past the end of the token that it was made from: what a caller may do ends with that.
    const subjectEnds = (principal.expiresAt ?? Infinity) * 1000;
    return {
      credential: { value: `Bearer ${issued.accessToken}`, obtainedAt: askedAt },
      expiresAt: Math.min(keptUntil(issued, askedAt), subjectEnds),
    };
  };

  /** RFC 6749 §5.1: a `scope` is told where it is not what was asked for. A narrower one is never taken for the wider. */
  function requireScope(granted: readonly string[] | undefined, principal: Principal): void {
    const missing = exchange.scope.filter((scope) => granted?.includes(scope) === false);
    if (missing.length > 0) throw scopeDenial(exchange, principal, missing);
  }

  /** RFC 8693 §2.2.2, RFC 6749 §5.2. Only what a new token of the client would mend is told as such. */
  async function refusal({ status, body }: ServerAnswer, token: PresentedToken, principal: Principal): Promise<Denial> {
    const error = errorCodeOf(body);
    const detail = `the exchange was refused with ${status} ${error}`;
    switch (error) {
      case 'invalid_scope':
        return scopeDenial(exchange, principal);
      case 'invalid_grant':
      case 'invalid_request': {
        // RFC 8693 has invalid_request for a "subject_token or actor_token [that is] invalid for any reason", servers have
        // invalid_grant too: which of them, or our own request? Its own server knows.
        const problem = await problemOf(token);
        if (problem !== undefined) return new Denial(problem.reason, `${detail}: ${problem.detail}`);
        actor?.forget();
        return new Denial(mayBeRevoked(error, principal) ? 'token.inactive' : 'exchange.refused', detail);
      }
      default:
        return new Denial('exchange.refused', detail);
    }
  }

  /**
   * Of a JWT that still verifies only its issuer knows that it was revoked, and has just said so. Anybody else's
   * invalid_grant is about something that the client's next token would not mend: as a 401 it would loop.
   */
  function mayBeRevoked(error: string, { form, issuer }: Principal): boolean {
    return error === 'invalid_grant' && form === 'jwt' && issuer === exchange.server.issuer;
  }

  /** What its own server says against a token. */
  async function problemOf(token: PresentedToken): Promise<Denial | undefined> {
    try {
      await revalidate(token);
      return undefined;
    } catch (error) {
      if (isTokenDenial(error)) return error;
      throw error;
    }
  }
}

/** All parameters that are the same for every subject token, RFC 8693 §2.1. */
function fixedParameters(exchange: TokenExchange): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: tokenTypes[exchange.subjectTokenType],
    requested_token_type: tokenTypes[exchange.requestedTokenType],
  });
  for (const audience of exchange.audience) form.append('audience', audience);
  for (const resource of exchange.resource) form.append('resource', resource);
  if (exchange.scope.length > 0) form.set('scope', exchange.scope.join(' '));
  return form;
}

/**
 * Why an exchange did not bring the scopes that it must. `exchange.insufficient_scope`, which a client can mend, where
 * the server that refuses them is the one that issued the caller's token, and left them out of that: a new token with
 * them could be exchanged. Anything else is between us and that server.
 *
 * @param missing What the answer lacks; undefined: the server did not say which (`invalid_scope`).
 */
function scopeDenial(exchange: TokenExchange, principal: Principal, missing?: readonly string[]): Denial {
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
