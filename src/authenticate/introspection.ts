import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import type { Claims, Principal } from '../model/principal.ts';
import { principalOf } from './principal.ts';

/** Asks an authorization server about an opaque token; undefined when it is not active there. */
export type Introspector = (token: string) => Promise<Principal | undefined>;

/** What servers call the token in `token_type` (RFC 6749 §7.1) or, some of them, its kind. A refresh token is active too. */
const accessTokenTypes = new Set(['bearer', 'access_token']);

/**
 * Creates the introspection of `client`'s server, RFC 7662.
 *
 * @returns a function that throws {Denial} `authorization_server.unavailable` when it cannot be asked or refuses *us*,
 *   `token.*` when its answer says that this is no token for us.
 */
export function createIntrospector(
  client: AuthorizationServerClient,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): Introspector {
  const { server } = client;
  const { introspection } = server;
  if (introspection === undefined) throw new TypeError(`${server.name} has no introspection`);

  return async (token) => {
    const endpoint = introspection.endpoint ?? (await client.metadata()).introspectionEndpoint;
    if (endpoint === undefined)
      throw unavailable('its metadata has no introspection_endpoint; set introspection.endpoint');
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
    const { status, body } = await client.post('introspection', endpoint, form, introspection.credentials);
    // RFC 7662 §2.3: a 401 is about our credentials, never about the token.
    if (status !== 200)
      throw unavailable(`${endpoint} answered ${status}; check introspection.client_id and client_secret`);
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw unavailable(`${endpoint} did not answer with a JSON object`);

    const claims = body as Claims;
    // RFC 7662 §2.2: a boolean. The string "true" is somebody's mistake, and nobody's permission.
    if (claims['active'] !== true) return undefined;
    requireThisIssuer(claims['iss']);
    requireAccessToken(claims);
    const principal = principalOf(claims, 'opaque', true, server, hierarchy);
    requireInTime(principal, claims['nbf']);
    if (claims['aud'] === undefined && introspection.audience === 'required') {
      throw new Denial('token.audience', 'the introspection answer has no aud (see introspection.audience)');
    }
    return principal;
  };

  function unavailable(why: string): Denial {
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`);
  }

  function requireThisIssuer(issuer: unknown): void {
    if (issuer === undefined || issuer === server.issuer) return;
    throw new Denial('token.issuer', `${server.name} answered for another issuer`);
  }

  function requireInTime(principal: Principal, notBefore: unknown): void {
    const now = clock();
    if (principal.expiresAt !== undefined && principal.expiresAt * 1000 + server.clockToleranceMs <= now) {
      throw new Denial('token.expired', 'exp of the introspection answer has passed');
    }
    if (notBefore === undefined) return;
    if (typeof notBefore !== 'number') throw new Denial('token.claims', 'nbf is not a number');
    if (notBefore * 1000 - server.clockToleranceMs > now)
      throw new Denial('token.not_yet_valid', 'nbf is in the future');
  }
}

function requireAccessToken(claims: Claims): void {
  const { token_type: type, token_use: use } = claims;
  if (type !== undefined && !(typeof type === 'string' && accessTokenTypes.has(type.toLowerCase()))) {
    throw new Denial('token.type', 'the introspection answer names a token_type other than Bearer');
  }
  if (use !== undefined && use !== 'access_token') {
    throw new Denial('token.type', 'the introspection answer names a token_use other than access_token');
  }
}
