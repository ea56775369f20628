/** @module What tells an access token from other tokens of its issuer. No standard names the kind in the payload. */

import { Denial } from '../core/model/denial.ts';
import type { Claims } from '../core/model/principal.ts';

/** Claims of other kinds of token: ID tokens (OIDC Core §2, §3.3.2.11) and logout tokens. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];

/**
 * The kinds in Keycloak's payload claim `typ` that are no access token.
 * https://github.com/keycloak/keycloak/blob/main/core/src/main/java/org/keycloak/util/TokenUtil.java
 */
const otherTypes = new Set<unknown>(['ID', 'Serialized-ID', 'Logout', 'Refresh', 'Offline']);
const accessTypes = new Set<unknown>(['Bearer', 'DPoP']);

/** Amazon Cognito sends `access` or `id`, oidc-provider `access_token`. */
const accessUses = new Set<unknown>([undefined, 'access', 'access_token']);

/**
 * Requires that a token is no ID, logout or refresh token, by what servers write into theirs. An issuer signs ID tokens
 * with the same keys, and a client has one of every user who signed in there.
 *
 * @param typed Whether its header declares an access token (`typ: at+jwt`). Otherwise a claim that only other kinds of
 *   token have refuses it.
 * @throws {Denial} `token.type`
 */
export function requireAccessToken(claims: Claims, typed: boolean): void {
  const evidence = statedKind(claims) ?? (typed ? undefined : (foreignClaim(claims) ?? entraIdToken(claims)));
  if (evidence !== undefined) throw new Denial('token.type', `not an access token: ${evidence}`);
}

function statedKind(claims: Claims): string | undefined {
  if (otherTypes.has(claims['typ'])) return 'typ in its payload says so';
  if (!accessUses.has(claims['token_use'])) return 'its token_use is not access';
  // Curity sends `access_token` or `id`; other servers use `purpose` for anything.
  return claims['purpose'] === 'id' ? 'its purpose is id' : undefined;
}

function foreignClaim(claims: Claims): string | undefined {
  const found = foreignClaims.find((name) => claims[name] !== undefined && !isKeycloakNonce(name, claims));
  return found === undefined ? undefined : `it has ${found}`;
}

/** Before version 25 Keycloak put `nonce` into access tokens too: see its upgrading guide. */
function isKeycloakNonce(name: string, claims: Claims): boolean {
  return name === 'nonce' && accessTypes.has(claims['typ']);
}

/**
 * Entra ID's tokens have their version and tenant. Its access tokens also name their client, in `azp` (2.0) or `appid`
 * (1.0); its ID tokens never do. If an application calls its own API, both kinds have the same `aud`.
 * https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
function entraIdToken({ ver, tid, azp, appid }: Claims): string | undefined {
  const isEntra = (ver === '1.0' || ver === '2.0') && typeof tid === 'string';
  return isEntra && (azp ?? appid ?? undefined) === undefined ? 'it has neither azp nor appid' : undefined;
}
