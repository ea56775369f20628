import { decodeJwt } from 'jose/jwt/decode';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import { Denial } from '../../core/model/denial.ts';
import type { TokenExchange } from './slot.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { type Answer, AnswerCache } from '../../tokens/answer-cache.ts';
import { reasons } from './reasons.ts';

/**
 * The token endpoint: as configured, or from the server's metadata (RFC 8414 §2).
 *
 * @throws {Denial} `exchange.refused` if neither names one, `authorization_server.unavailable` without metadata.
 */
export async function tokenEndpoint(
  exchange: Pick<TokenExchange, 'endpoint'>,
  client: AuthorizationServerClient,
): Promise<string> {
  const endpoint = exchange.endpoint ?? (await client.metadata()).tokenEndpoint;
  if (endpoint !== undefined) return endpoint;
  throw new Denial(reasons['exchange.refused'], 'the metadata has no token_endpoint; set exchange.endpoint');
}

/** The token types of RFC 8693 §3, by their names in the configuration. */
export const tokenTypes: Readonly<Record<TokenExchange['tokenType'], string>> = {
  access_token: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
};

/** A bearer token that a token endpoint issued. The gateway ignores a refresh token. */
export interface IssuedToken {
  readonly accessToken: string;
  /** Milliseconds since the epoch, at most {@link MAX_LIFETIME_MS} away; undefined: the expiry is unknown. */
  readonly expiresAt: number | undefined;
  /** `scope`, RFC 6749 §5.1; undefined: as requested. */
  readonly scope: readonly string[] | undefined;
}

/** The maximum lifetime: the gateway reuses no token for longer, whatever its server states. */
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** A token is renewed after nine tenths of its lifetime, so that it does not expire on its way to the upstream, */
const EARLY = 0.1;
/** but at most this long before its expiry. */
const EARLY_MS = 30_000;
/** Bounds memory; most upstreams accept no longer header. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/**
 * Reads a successful answer of a token endpoint, RFC 6749 §5.1. Anything but a plain bearer token is refused.
 *
 * @param askedAt When the request was sent, in milliseconds since the epoch. The lifetime counts from here.
 * @throws {Denial} `exchange.invalid`
 */
export function readIssuedToken(body: unknown, askedAt: number): IssuedToken {
  const { access_token: accessToken, token_type: type, expires_in: seconds, scope } = members(body);
  // RFC 6750 §2.1: other characters cannot stand in an Authorization header, or would end it.
  if (typeof accessToken !== 'string' || !/^[A-Za-z0-9\-._~+/]+=*$/.test(accessToken)) {
    throw invalid('the answer has no access_token');
  }
  if (accessToken.length > MAX_TOKEN_LENGTH) throw invalid(`access_token is longer than ${MAX_TOKEN_LENGTH} bytes`);
  // RFC 8693 §2.2.1: `N_A` is no access token, and upstreams accept only Bearer.
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') throw invalid('token_type is not Bearer');
  if (scope !== undefined && scope !== null && typeof scope !== 'string') throw invalid('scope is not a string');
  return {
    accessToken,
    expiresAt: endOf(accessToken, seconds, askedAt),
    // A server that writes null granted none; without the member it granted what was requested.
    scope: (scope === null ? '' : scope)?.split(' ').filter((each) => each !== ''),
  };
}

/**
 * Requires `issued_token_type`, RFC 8693 §2.2.1. Without it the token could be a refresh or ID token, which must not
 * reach an upstream. A JWT may stand in for an access token, but not the other way round.
 *
 * @throws {Denial} `exchange.invalid`
 */
export function requireIssuedType(body: unknown, requested: TokenExchange['tokenType']): void {
  const { issued_token_type: issued } = members(body);
  if (issued === undefined) throw invalid('the answer has no issued_token_type');
  if (issued === tokenTypes.jwt || issued === tokenTypes[requested]) return;
  throw invalid(`issued_token_type is neither ${requested} nor jwt`);
}

/** Until when a token is reused. If its expiry is unknown, `now`: only the waiting callers use it. */
export function keptUntil({ expiresAt }: IssuedToken, now: number): number {
  if (expiresAt === undefined) return now;
  return expiresAt - Math.min((expiresAt - now) * EARLY, EARLY_MS);
}

/** `expires_in` or a JWT's own `exp`, whichever is earlier. `exp` is not verified: it can only shorten the reuse. */
function endOf(accessToken: string, seconds: unknown, askedAt: number): number | undefined {
  const end = Math.min(askedAt + lifetimeSeconds(seconds ?? undefined) * 1000, ownExpiry(accessToken));
  return end === Infinity ? undefined : Math.min(end, askedAt + MAX_LIFETIME_MS);
}

/** RFC 6749 §A.14: digits, which some servers write as a text. A number that JSON cannot represent is refused. */
function lifetimeSeconds(stated: unknown): number {
  if (stated === undefined) return Infinity;
  const seconds = typeof stated === 'string' && /^\d{1,15}$/.test(stated) ? Number(stated) : stated;
  if (Number.isSafeInteger(seconds) && Number(seconds) > 0) return Number(seconds);
  throw invalid('expires_in is not a positive integer');
}

function ownExpiry(accessToken: string): number {
  if (!accessToken.includes('.')) return Infinity;
  try {
    const { exp } = decodeJwt(accessToken);
    return typeof exp === 'number' ? exp * 1000 : Infinity;
  } catch {
    return Infinity;
  }
}

function members(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}

function invalid(detail: string): Denial {
  return new Denial(reasons['exchange.invalid'], detail);
}

/** The `error` code of a token endpoint's answer, RFC 6749 §5.2, safe to log. Any other text is left out. */
export function errorCodeOf(body: unknown): string {
  const { error } = members(body);
  return typeof error === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(error) ? error : 'without an error code';
}

interface OwnTokenRequest {
  readonly clock: Clock;
  /** Those besides `grant_type`. */
  readonly parameters: readonly [name: string, value: string][];
  /** @param error The `error` code of the answer. */
  readonly refusal: (status: number, error: string) => Denial;
}

/**
 * Asks for a token of the gateway itself, RFC 6749 §4.4.2. `askedAt`: when, in milliseconds since the epoch.
 *
 * @throws {Denial} the refusal, `exchange.invalid`, `authorization_server.unavailable`.
 */
export async function requestOwnToken(
  settings: Pick<TokenExchange, 'endpoint' | 'credentials'>,
  client: AuthorizationServerClient,
  { clock, parameters, refusal }: OwnTokenRequest,
): Promise<IssuedToken & { readonly askedAt: number }> {
  const endpoint = await tokenEndpoint(settings, client);
  const form = new URLSearchParams([['grant_type', 'client_credentials'], ...parameters]);
  const askedAt = clock();
  const { status, body } = await client.post('client_credentials', endpoint, form, settings.credentials);
  if (status !== 200) throw refusal(status, errorCodeOf(body));
  return { ...readIssuedToken(body, askedAt), askedAt };
}

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
  const cache = new AnswerCache<IssuedToken>({ clock, max: MAX_OWN_TOKENS });

  return (exchange, client) => {
    const key = lengthPrefixed([client.server.issuer, exchange.endpoint ?? '', exchange.credentials.clientId]);
    return {
      async get() {
        const token = cache.get(key) ?? (await cache.obtain(key, { ask: () => request(exchange, client) }));
        return token.accessToken;
      },
      invalidate: () => cache.delete(key),
    };
  };

  async function request(exchange: TokenExchange, client: AuthorizationServerClient): Promise<Answer<IssuedToken>> {
    const token = await requestOwnToken(exchange, client, {
      clock,
      parameters: [],
      refusal: (status, error) =>
        new Denial(reasons['exchange.refused'], `the gateway's own token (actor) was refused with ${status} ${error}`),
    });
    return { value: token, expiresAt: keptUntil(token, token.askedAt) };
  }
}
