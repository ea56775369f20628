import { Denial } from '../model/denial.ts';
import type { Claims } from '../model/principal.ts';

/** Whatever is in a token that is not an access token: ID tokens (OIDC Core §2, §3.3.2.11) and logout tokens. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];

/**
 * Keycloak names a token's kind in the payload, `typ`; these must never pass for an access token.
 * https://github.com/keycloak/keycloak/blob/main/core/src/main/java/org/keycloak/util/TokenUtil.java
 */
const otherTypes = new Set<unknown>(['ID', 'Serialized-ID', 'Logout', 'Refresh', 'Offline']);
const accessTypes = new Set<unknown>(['Bearer', 'DPoP']);

/** Amazon Cognito says `access` or `id`, oidc-provider `access_token`. */
const accessUses = new Set<unknown>([undefined, 'access', 'access_token']);

/**
 * Requires that a token is not of another kind, by what servers write into theirs. An issuer signs ID tokens with the
 * same keys, and a client has one for everybody who signed in there.
 *
 * @param typed whether its header says that it is an access token (`typ: at+jwt`); else a claim that only other kinds
 *   have is taken for what it is.
 * @throws {Denial} `token.type`
 */
export function requireAccessToken(claims: Claims, typed: boolean): void {
  const sign = statedKind(claims) ?? (typed ? undefined : (foreignClaim(claims) ?? entraIdToken(claims)));
  if (sign !== undefined) throw new Denial('token.type', `not an access token: ${sign}`);
}

function statedKind(claims: Claims): string | undefined {
  if (otherTypes.has(claims['typ'])) return 'typ in its payload says so';
  if (!accessUses.has(claims['token_use'])) return 'its token_use is not access';
  // Curity writes `access_token` or `id`; elsewhere `purpose` may mean anything.
  return claims['purpose'] === 'id' ? 'its purpose is id' : undefined;
}

function foreignClaim(claims: Claims): string | undefined {
  const found = foreignClaims.find((name) => claims[name] !== undefined && !isKeycloakNonce(name, claims));
  return found === undefined ? undefined : `it has ${found}`;
}

/** Until version 25 Keycloak put `nonce` into access tokens too: see its upgrading guide. */
function isKeycloakNonce(name: string, claims: Claims): boolean {
  return name === 'nonce' && accessTypes.has(claims['typ']);
}

/**
 * Entra ID's tokens say their version and tenant; its access tokens also which client they were issued to, in `azp`
 * (2.0) or `appid` (1.0), and its ID tokens never do. Where an application calls its own API, both have one `aud`.
 * https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
function entraIdToken({ ver, tid, azp, appid }: Claims): string | undefined {
  const isEntra = (ver === '1.0' || ver === '2.0') && typeof tid === 'string';
  return isEntra && azp === undefined && appid === undefined ? 'it has neither azp nor appid' : undefined;
}
