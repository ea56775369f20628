import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache } from '../../lib/expiring-cache.ts';
import { lengthPrefixed } from '../../lib/length-prefixed.ts';
import { createSingleFlight } from '../../lib/single-flight.ts';
import type { AuthorizationServerClient } from '../../model/authorization-server.ts';
import { Denial } from '../../model/denial.ts';
import type { TokenExchange } from '../../model/route.ts';
import { errorCodeOf, type IssuedToken, keptUntil, readIssuedToken, tokenEndpoint } from './issued-token.ts';

/** The gateway's own access token at one authorization server: the actor token of an exchange, RFC 8693 §1.1. */
export interface OwnToken {
  /** @throws {Denial} `exchange.refused`, `exchange.invalid`, `authorization_server.unavailable`. */
  get(): Promise<string>;
  /** Discards the token after a refusal: the next call gets a new one. */
  invalidate(): void;
}

/** The gateway's own token for an exchange; exchanges with the same client and endpoint share one. */
export type OwnTokens = (exchange: TokenExchange, client: AuthorizationServerClient) => OwnToken;

/** Bounds memory. No configuration names this number of clients. */
const MAX_OWN_TOKENS = 1_000;

/** Creates the gateway's own tokens: cached until shortly before they expire, one request in flight for each. */
export function createOwnTokens(clock: Clock): OwnTokens {
  const kept = createExpiringCache<IssuedToken>(MAX_OWN_TOKENS, clock);
  const flight = createSingleFlight<IssuedToken>();

  return (exchange, client) => {
    const key = lengthPrefixed([client.server.issuer, exchange.endpoint ?? '', exchange.credentials.clientId]);
    return {
      async get() {
        const token = kept.get(key) ?? (await flight(key, () => request(exchange, client, key)));
        return token.accessToken;
      },
      invalidate: () => kept.delete(key),
    };
  };

  /** RFC 6749 §4.4. */
  async function request(
    exchange: TokenExchange,
    client: AuthorizationServerClient,
    key: string,
  ): Promise<IssuedToken> {
    const endpoint = await tokenEndpoint(exchange, client);
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    const askedAt = clock();
    const { status, body } = await client.post('client_credentials', endpoint, form, exchange.credentials);
    if (status !== 200) {
      throw new Denial(
        'exchange.refused',
        `the gateway's own token (actor) was refused with ${status} ${errorCodeOf(body)}`,
      );
    }
    const token = readIssuedToken(body, askedAt);
    kept.set(key, token, keptUntil(token, askedAt));
    return token;
  }
}
