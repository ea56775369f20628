import { hash } from 'node:crypto';
import type { TokenExchange } from '../model/route.ts';

/**
 * Everything that an exchange depends on but its subject token, as one string that no other exchange makes: each part with
 * its length before it, each list with its count.
 */
export function purposeOf({ server, endpoint, credentials, ...asked }: TokenExchange): string {
  return joined([
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
  return hash('sha256', `${purpose}${part(issuer)}${part(subjectToken)}`, 'base64url');
}

/** Parts as one string that no other parts make. */
export function joined(parts: readonly string[]): string {
  return parts.map(part).join('');
}

function part(text: string): string {
  return `${text.length}:${text}`;
}

function counted(list: readonly string[]): readonly string[] {
  return [String(list.length), ...list];
}
