import { decodeJwt } from 'jose/jwt/decode';
import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { TokenExchange, TokenType } from '../model/route.ts';

/**
 * Where tokens are exchanged: as configured, or as the server's metadata says (RFC 8414 §2).
 *
 * @throws {Denial} `exchange.refused` where neither says it, `authorization_server.unavailable` without metadata.
 */
export async function tokenEndpoint(exchange: TokenExchange, client: AuthorizationServerClient): Promise<string> {
  const endpoint = exchange.endpoint ?? (await client.metadata()).tokenEndpoint;
  if (endpoint !== undefined) return endpoint;
  throw new Denial('exchange.refused', 'the metadata has no token_endpoint; set exchange.endpoint');
}

/** RFC 8693 §3, by the names that the configuration has for them. */
export const tokenTypes: Readonly<Record<TokenType, string>> = {
  access_token: 'urn:ietf:params:oauth:token-type:access_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
};

/** A bearer token that a token endpoint issued. Its refresh token, if it has one, is nobody's business here. */
export interface IssuedToken {
  readonly accessToken: string;
  /** Milliseconds since the epoch, {@link MAX_LIFETIME_MS} away at most; undefined: nobody says when it ends. */
  readonly expiresAt: number | undefined;
  /** `scope`, RFC 6749 §5.1; undefined: as it was asked for. */
  readonly scope: readonly string[] | undefined;
}

/** An answer that says "for a hundred years" is asked for again after a day. */
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** A credential that ends while it is on its way is refused upstream; it is renewed a tenth of its life before its end, */
const EARLY = 0.1;
/** but no more than this. */
const EARLY_MS = 30_000;
/** More fits into no upstream's header section, and twenty thousand of them into no memory. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/**
 * Reads a successful answer of a token endpoint, RFC 6749 §5.1: what is not plainly a bearer token goes nowhere.
 *
 * @param askedAt Milliseconds since the epoch; a lifetime is counted from here, which is before the server began it.
 * @throws {Denial} `exchange.invalid`
 */
export function readIssuedToken(body: unknown, askedAt: number): IssuedToken {
  const { access_token: accessToken, token_type: type, expires_in: seconds, scope } = members(body);
  // RFC 6750 §2.1: what cannot stand in an Authorization header, or would end it.
  if (typeof accessToken !== 'string' || !/^[A-Za-z0-9\-._~+/]+=*$/.test(accessToken)) {
    throw invalid('the answer has no access_token');
  }
  if (accessToken.length > MAX_TOKEN_LENGTH) throw invalid(`access_token is longer than ${MAX_TOKEN_LENGTH} bytes`);
  // RFC 8693 §2.2.1: `N_A` is no access token; of the other types none is a Bearer to its upstream.
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') throw invalid('token_type is not Bearer');
  if (scope !== undefined && typeof scope !== 'string') throw invalid('scope is not a string');
  return {
    accessToken,
    expiresAt: endOf(accessToken, seconds, askedAt),
    scope: scope?.split(' ').filter((each) => each !== ''),
  };
}

/**
 * RFC 8693 §2.2.1: `issued_token_type` is REQUIRED, and without it nobody says that this is not the refresh or ID token
 * that was never meant for an upstream. A JWT is fine where an access token was asked for, the other way round it is not.
 *
 * @throws {Denial} `exchange.invalid`
 */
export function requireIssuedType(body: unknown, requested: TokenType): void {
  const { issued_token_type: issued } = members(body);
  if (issued === undefined) throw invalid('the answer has no issued_token_type');
  if (issued === tokenTypes.jwt || issued === tokenTypes[requested]) return;
  throw invalid(`issued_token_type is neither ${requested} nor jwt`);
}

/** Until when a token is used again; the past where nobody says when it ends: once, by those who wait for it together. */
export function keptUntil({ expiresAt }: IssuedToken, now: number): number {
  if (expiresAt === undefined) return now;
  return expiresAt - Math.min((expiresAt - now) * EARLY, EARLY_MS);
}

/** `expires_in` or a JWT's own `exp`, whichever is earlier. The latter is not verified: we only trust it to have ended. */
function endOf(accessToken: string, seconds: unknown, askedAt: number): number | undefined {
  // RFC 6749 §A.14: digits. What JSON cannot hold exactly (1e999) is none.
  if (seconds !== undefined && !(Number.isSafeInteger(seconds) && Number(seconds) > 0)) {
    throw invalid('expires_in is not a positive integer');
  }
  const told = seconds === undefined ? Infinity : askedAt + Number(seconds) * 1000;
  const end = Math.min(told, ownExpiry(accessToken));
  return end === Infinity ? undefined : Math.min(end, askedAt + MAX_LIFETIME_MS);
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
  return new Denial('exchange.invalid', detail);
}

/** The `error` of a token endpoint's answer, RFC 6749 §5.2, as it may be shown: a code, never what else stands there. */
export function errorCodeOf(body: unknown): string {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  return typeof error === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(error) ? error : 'without an error code';
}
