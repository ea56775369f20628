import { lengthPrefixed } from '../lib/digest.ts';
import type { Claims, Principal } from './principal.ts';

/**
 * The claim that names the client: `client_id` (RFC 9068 §2.2), or what servers send instead: `azp`, Entra ID 1.0
 * `appid`, Okta `cid`. Other servers may use the last two for something else, in another form.
 */
export function clientClaim(claims: Claims): 'client_id' | 'azp' | 'appid' | 'cid' {
  if (claims['client_id'] !== undefined) return 'client_id';
  if (claims['azp'] !== undefined || !(isName(claims['appid']) || isName(claims['cid']))) return 'azp';
  return isName(claims['appid']) ? 'appid' : 'cid';
}

/** Whether a claim names a subject or a client: callers with an empty one would share sessions and quotas. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * The identity that separates callers in quotas, rate limits, sessions and handles: the subject at its issuer, or the
 * client if the token has no subject (client credentials). It is not the token, which is renewed, nor the key that the
 * token is bound to: a caller can make any number of keys.
 *
 * @returns undefined if the token names neither, RFC 7662 §2.2. Such callers cannot be distinguished.
 */
export function callerKey({
  issuer,
  subject,
  clientId,
}: Pick<Principal, 'issuer' | 'subject' | 'clientId'>): string | undefined {
  return subject === undefined ? clientKey({ issuer, clientId }) : lengthPrefixed([issuer, 'subject', subject]);
}

/** The identity of the client at its issuer; undefined if the token names none. */
export function clientKey({ issuer, clientId }: Pick<Principal, 'issuer' | 'clientId'>): string | undefined {
  return clientId === undefined ? undefined : lengthPrefixed([issuer, 'client', clientId]);
}

/**
 * The identity of the agent that calls: the current actor, or the client of a token without actors; undefined without
 * either. An actor and a client of one name are two agents.
 */
export function actorKey(principal: Pick<Principal, 'issuer' | 'clientId' | 'actors'>): string | undefined {
  const [current] = principal.actors ?? [];
  return current === undefined ? clientKey(principal) : lengthPrefixed([current.issuer, 'actor', current.subject]);
}
