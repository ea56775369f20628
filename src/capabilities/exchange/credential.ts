import { hash } from 'node:crypto';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { Denial } from '../../core/model/denial.ts';
import type { UpstreamCredential } from '../../core/model/grant.ts';
import { reasons } from './reasons.ts';
import type { GatewayGrant, TokenExchange } from './settings.ts';

/** The client's own token is valid at this gateway: no answer, cached or new, may pass it to an upstream. */
export function foreignCredential(
  value: string,
  { value: own }: { readonly value: string } = { value: '' },
): UpstreamCredential {
  if (own !== '' && value.length === own.length + 'Bearer '.length && value.endsWith(own))
    throw new Denial(reasons['exchange.invalid'], "the token for the upstream is the client's own token");
  return value as NonNullable<UpstreamCredential>;
}

/**
 * The settings that an exchange depends on, as one string. Two different exchanges never give the same string, since
 * each list is preceded by its count.
 */
export function purposeOf({ server, endpoint, credentials, ...asked }: TokenExchange): string {
  return lengthPrefixed([
    server.issuer,
    endpoint ?? '',
    credentials.clientId,
    asked.grant,
    asked.subjectTokenType,
    asked.requestedTokenType,
    asked.actor,
    ...counted(asked.audience),
    ...counted(asked.resource),
    ...counted(asked.scope),
  ]);
}

/** {@link purposeOf} a token for the gateway itself. */
export function purposeOfGrant({ server, endpoint, credentials, audience, resource, scope }: GatewayGrant): string {
  const asked = [...counted(audience), ...counted(resource), ...counted(scope)];
  return lengthPrefixed(['client_credentials', server.issuer, endpoint ?? '', credentials.clientId, ...asked]);
}

/** The cache key of the credential for a subject token: SHA-256, so that the key does not reveal the token. */
export function cacheKey(purpose: string, subjectToken: string, issuer: string): string {
  return hash('sha256', purpose + lengthPrefixed([issuer, subjectToken]), 'base64url');
}

function counted(list: readonly string[]): readonly string[] {
  return [String(list.length), ...list];
}
