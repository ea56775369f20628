import { hash } from 'node:crypto';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { Denial } from '../../core/model/denial.ts';
import type { UpstreamCredential } from '../../core/model/grant.ts';
import { reasons } from './reasons.ts';
import type { GatewayGrant, TokenExchange } from './slot.ts';

/** The client's own token is valid at this gateway: no answer, cached or new, may pass it to an upstream. */
export function foreignCredential(
  value: string,
  { value: own }: { readonly value: string } = { value: '' },
): UpstreamCredential {
  if (own !== '' && value.length === own.length + 'Bearer '.length && value.endsWith(own))
    throw new Denial(reasons['exchange.invalid'], "the token for the upstream is the client's own token");
  return value as NonNullable<UpstreamCredential>;
}

/** All settings that a token depends on, as one string, which no other settings give. */
export function purposeOf({ server, credentials, ...asked }: TokenExchange | GatewayGrant): string {
  const settings = Object.entries(asked).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([server.issuer, credentials.clientId, settings]);
}

/** The cache key of the credential for a subject token: SHA-256, so that the key does not reveal the token. */
export function cacheKey(purpose: string, subjectToken: string, issuer: string): string {
  return hash('sha256', purpose + lengthPrefixed([issuer, subjectToken]), 'base64url');
}
