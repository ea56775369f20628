import { hash } from 'node:crypto';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { TokenExchange } from '../model/route.ts';

/**
 * Everything that an exchange depends on but its subject token, as one string that no other exchange makes: each list
 * is preceded by its count.
 */
export function purposeOf({ server, endpoint, credentials, ...asked }: TokenExchange): string {
  return lengthPrefixed([
    server.issuer,
    endpoint ?? '',
    credentials.clientId,
    asked.subjectTokenType,
    asked.requestedTokenType,
    asked.actor,
    ...counted(asked.audience),
    ...counted(asked.resource),
    ...counted(asked.scope),
  ]);
}

/** The name of what was exchanged for a subject token: SHA-256, so that nobody who sees it has the token. */
export function cacheKey(purpose: string, subjectToken: string, issuer: string): string {
  return hash('sha256', purpose + lengthPrefixed([issuer, subjectToken]), 'base64url');
}

function counted(list: readonly string[]): readonly string[] {
  return [String(list.length), ...list];
}
