import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { Claims, Principal } from '../model/principal.ts';
import { principalOf } from './principal.ts';

/** What an authorization server said of a token that is active; that the server said it is proved. A JSON value. */
export interface IntrospectionAnswer {
  /** The members of RFC 7662 §2.2, or the claims of a phantom token. */
  readonly claims: Claims;
  /** The compact JWT, where the answer was signed. */
  readonly jwt?: string;
}

/** What servers call the token in `token_type` (RFC 6749 §7.1) or, some of them, its kind. A refresh token is active too. */
const accessTokenTypes = new Set(['bearer', 'access_token', 'dpop']);

/**
 * The principal that an answer speaks of, as of now: an answer that was kept is good for no longer than it says.
 *
 * @throws {Denial} `token.*` where it says that this is no token for us.
 */
export function principalOfAnswer(
  { claims, jwt }: IntrospectionAnswer,
  server: AuthorizationServer,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): Principal {
  if (claims['iss'] !== undefined && claims['iss'] !== server.issuer) {
    throw new Denial('token.issuer', `${server.name} answered for another issuer`);
  }
  requireAccessToken(claims);
  const principal = principalOf(claims, 'opaque', true, server, hierarchy);
  requireItsKey(principal);
  requireInTime(principal, claims['nbf'], server, clock);
  if (claims['aud'] === undefined && server.introspection?.audience !== 'optional') {
    throw new Denial('token.audience', 'the introspection answer has no aud (see introspection.audience)');
  }
  return { ...principal, introspectionJwt: jwt };
}

function requireInTime(
  { expiresAt = Infinity }: Principal,
  notBefore: unknown,
  { clockToleranceMs }: AuthorizationServer,
  clock: Clock,
): void {
  const now = clock();
  if (expiresAt * 1000 + clockToleranceMs <= now) {
    throw new Denial('token.expired', 'exp of the introspection answer has passed');
  }
  if (notBefore === undefined) return;
  if (typeof notBefore !== 'number') throw new Denial('token.claims', 'nbf is not a number');
  if (notBefore * 1000 - clockToleranceMs > now) throw new Denial('token.not_yet_valid', 'nbf is in the future');
}

/** RFC 9449 §6.2: a server that says DPoP and not by which key would make a bearer token of it. */
function requireItsKey({ claims: { token_type: type }, confirmation }: Principal): void {
  if (typeof type === 'string' && type.toLowerCase() === 'dpop' && confirmation?.jwkThumbprint === undefined) {
    throw new Denial('token.sender_constrained', 'the introspection answer has token_type DPoP and no cnf.jkt');
  }
}

function requireAccessToken(claims: Claims): void {
  const { token_type: type } = claims;
  if (type !== undefined && !(typeof type === 'string' && accessTokenTypes.has(type.toLowerCase()))) {
    throw new Denial('token.type', 'the introspection answer names a token_type other than Bearer and DPoP');
  }
}
