import type { Clock } from '../../core/lib/clock.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../ports/authorization-server-client.ts';
import { Denial, isTokenDenial } from '../../core/model/denial.ts';
import type { CallerGrant, PresentedToken } from '../../core/model/grant.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { TokenExchange } from './slot.ts';
import {
  errorCodeOf,
  keptUntil,
  readIssuedToken,
  requireIssuedType,
  tokenEndpoint,
  tokenTypes,
  type OwnToken,
} from './issued-token.ts';
import { reasons } from './reasons.ts';

/** The settings of an exchange besides its subject token. */
export interface ExchangeParts {
  readonly client: AuthorizationServerClient;
  /** Undefined: the exchange names no actor. */
  readonly actor: OwnToken | undefined;
  /** Validates a token again, past every cache. */
  readonly revalidate: (token: PresentedToken) => Promise<unknown>;
  readonly clock: Clock;
}

/** The name of the caller's token in each grant, and what the grant says of the new one. */
const grants = {
  token_exchange: {
    type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject: 'subject_token',
    fixed: ({ subjectTokenType, tokenType }) => ({
      subject_token_type: tokenTypes[subjectTokenType],
      requested_token_type: tokenTypes[tokenType],
    }),
  },
  // https://learn.microsoft.com/entra/identity-platform/v2-oauth2-on-behalf-of-flow
  on_behalf_of: {
    type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    subject: 'assertion',
    fixed: () => ({ requested_token_use: 'on_behalf_of' }),
  },
} as const satisfies Readonly<
  Record<
    TokenExchange['grant'],
    { type: string; subject: string; fixed: (exchange: TokenExchange) => Readonly<Record<string, string>> }
  >
>;

/**
 * Creates the exchange of the caller's token, the subject token, for a new one, RFC 8693 §2 or on behalf of the caller.
 *
 * @returns a function that throws {Denial} `token.*` if the caller's token is no longer valid, `exchange.*` for any
 *   other refusal, `authorization_server.unavailable` without an answer.
 */
export function createTokenExchange(
  exchange: TokenExchange,
  { client, actor, revalidate, clock }: ExchangeParts,
): (token: PresentedToken, principal: Principal) => Promise<NewCredential> {
  const fixed = fixedParameters(exchange);
  const { subject } = grants[exchange.grant];

  return async (token, principal) => {
    const endpoint = await tokenEndpoint(exchange, client);
    const form = new URLSearchParams(fixed);
    form.set(subject, token.value);
    if (actor !== undefined) {
      form.set('actor_token', await actor.get());
      form.set('actor_token_type', tokenTypes.access_token);
    }
    const askedAt = clock();
    const answer = await client.post('exchange', endpoint, form, exchange.credentials, {
      onBehalfOf: principal.callerKey ?? principal.issuer,
    });
    if (answer.status !== 200) throw await refusal(answer, token, principal);

    if (exchange.grant === 'token_exchange') requireIssuedType(answer.body, exchange.tokenType);
    const issued = readIssuedToken(answer.body, askedAt);
    // With the subject token an upstream could call as the client, with the actor token as the gateway.
    if (issued.accessToken === token.value || issued.accessToken === form.get('actor_token')) {
      throw new Denial(reasons['exchange.invalid'], 'the answer is the subject token or the actor token itself');
    }
    requireScope(issued.scope, principal);
    // The credential must not outlive the token that it was made from.
    const subjectEnds = (principal.expiresAt ?? Infinity) * 1000;
    return {
      credential: { value: `Bearer ${issued.accessToken}`, obtainedAt: askedAt },
      expiresAt: Math.min(keptUntil(issued, askedAt), subjectEnds),
    };
  };

  /** RFC 6749 §5.1: the answer names the granted `scope` if it differs from the request. A narrower one is refused. */
  function requireScope(granted: readonly string[] | undefined, principal: Principal): void {
    // `API/.default` asks Entra ID for whatever was consented to for the API, and no answer names it.
    const named = exchange.scope.filter((scope) => exchange.grant !== 'on_behalf_of' || !scope.endsWith('/.default'));
    const missing = named.filter((scope) => granted?.includes(scope) === false);
    if (missing.length > 0) throw scopeDenial(exchange, principal, missing);
  }

  /** RFC 8693 §2.2.2, RFC 6749 §5.2. The client gets a 401 only if a new token would help. */
  async function refusal({ status, body }: ServerAnswer, token: PresentedToken, principal: Principal): Promise<Denial> {
    const error = errorCodeOf(body);
    const detail = `the exchange was refused with ${status} ${error}`;
    switch (error) {
      case 'interaction_required':
        // OpenID Connect Core §3.1.2.6: the API behind the upstream wants another sign-in of the person, such as MFA.
        return new Denial('authentication.insufficient', detail);
      case 'invalid_scope':
        return scopeDenial(exchange, principal);
      case 'invalid_grant':
      case 'invalid_request': {
        // RFC 8693 §2.2.2 has invalid_request for an invalid subject or actor token, and some servers send
        // invalid_grant. Only the token's own server can tell whether the subject token is the fault.
        const problem = await problemOf(token);
        if (problem !== undefined) return new Denial(problem.refusal, `${detail}: ${problem.detail}`);
        actor?.invalidate();
        return new Denial(mayBeRevoked(error, principal) ? 'token.inactive' : reasons['exchange.refused'], detail);
      }
      default:
        return new Denial(reasons['exchange.refused'], detail);
    }
  }

  /**
   * Only the issuer knows that a JWT which still verifies was revoked. An invalid_grant of another server has a cause
   * that a new token would not remove: as a 401 it would make the client loop.
   */
  function mayBeRevoked(error: string, { form, issuer }: Principal): boolean {
    return error === 'invalid_grant' && form === 'jwt' && issuer === exchange.server.issuer;
  }

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

/** The parameters that are the same for every subject token, RFC 8693 §2.1. */
function fixedParameters(exchange: TokenExchange): URLSearchParams {
  const { type, fixed } = grants[exchange.grant];
  const form = new URLSearchParams({ grant_type: type, ...fixed(exchange) });
  for (const audience of exchange.audience) form.append('audience', audience);
  for (const resource of exchange.resource) form.append('resource', resource);
  if (exchange.scope.length > 0) form.set('scope', exchange.scope.join(' '));
  return form;
}

/**
 * The refusal of an exchange that did not grant the required scopes. `exchange.insufficient_scope`, which the client
 * can resolve with a new token, if the refusing server issued the caller's token without these scopes. Otherwise
 * `exchange.scope`: the operator has to change the settings of the gateway or of that server.
 *
 * @param missing The scopes that the answer lacks; undefined if the server did not say which (`invalid_scope`).
 */
function scopeDenial(exchange: TokenExchange, principal: Principal, missing?: readonly string[]): Denial {
  // Without implied scopes: the authorization server does not know the configured hierarchy.
  const held = new Set(principal.grantedScopes);
  const mendable = (missing ?? exchange.scope).filter((scope) => !held.has(scope));
  const all = missing === undefined ? mendable.length > 0 : mendable.length === missing.length;
  const what =
    missing === undefined
      ? `the exchange was refused with invalid_scope for "${exchange.scope.join(' ')}"`
      : `the exchange granted no "${missing.join(' ')}"`;
  // On behalf of a caller, the scopes are those of the API behind the upstream, which no token for the gateway has.
  if (all && principal.issuer === exchange.server.issuer && exchange.grant !== 'on_behalf_of') {
    return new Denial(
      reasons['exchange.insufficient_scope'],
      `${what}; the caller's token has no "${mendable.join(' ')}" either`,
    );
  }
  return new Denial(reasons['exchange.scope'], what);
}

/** The refusal for one operation: the challenge names all scopes that it needs, those of the exchange last. */
export function withNeededScopes(
  denial: Denial,
  exchange: TokenExchange,
  { principal, decision }: CallerGrant,
): Denial {
  const needed = principal === undefined ? undefined : decision.plan?.neededScopes(principal);
  const scope = [...new Set([...(needed ?? []), ...exchange.scope])];
  return new Denial(denial.refusal, denial.detail, { scope });
}

/** The `Authorization` value for an upstream, and when it was obtained. Plain JSON, for the shared store. */
export interface KeptCredential {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly obtainedAt: number;
}

/** The result of an exchange. */
export interface NewCredential {
  readonly credential: KeptCredential;
  /** Milliseconds since the epoch. A time in the past: only the waiting callers use it. */
  readonly expiresAt: number;
}

/** Another replica, perhaps of another release, may have written the entry. */
export function isCredential(answer: unknown): answer is KeptCredential {
  if (typeof answer !== 'object' || answer === null) return false;
  const { value, obtainedAt } = answer as Partial<KeptCredential>;
  return typeof value === 'string' && typeof obtainedAt === 'number';
}
