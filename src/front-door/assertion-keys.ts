import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import * as openid from 'openid-client';
import type { Clock } from '../lib/clock.ts';
import type { AssertionIssuer } from '../model/front-door.ts';
import { createIssuerFetch, discoverIssuer, hourly } from './issuer-discovery.ts';

/** How long one call to an issuer may take. */
const TIMEOUT_SECONDS = 5;

/** Creates the key source of `settings`. It discovers the issuer at the first assertion, and again each hour. */
export function createAssertionKeys(settings: AssertionIssuer, clock: Clock): JWTVerifyGetKey {
  const keys = hourly(() => discoverKeys(settings), clock);
  return async (header, token) => (await keys())(header, token);
}

/** Discovers an issuer. @throws if its metadata name another one, or no keys. */
export async function discoverKeys(settings: AssertionIssuer): Promise<JWTVerifyGetKey> {
  const client = { metadata: { client_id: 'front-door' }, auth: openid.None(), timeoutSeconds: TIMEOUT_SECONDS };
  const { jwks_uri: jwksUri } = (await discoverIssuer(settings, client)).serverMetadata();
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri');
  const options = { timeoutDuration: TIMEOUT_SECONDS * 1000, [customFetch]: createIssuerFetch(settings) };
  return createRemoteJWKSet(new URL(jwksUri), options);
}
