import { hash } from 'node:crypto';
import { lengthPrefixed } from '../core/lib/digest.ts';

/** The party that vouches for a subject: a provider, a platform, or an issuer of assertions with own subjects. */
export type SubjectSource = 'provider' | 'assertion' | 'workload';

/**
 * The `sub` of a person or a workload in the front door's tokens: the same each time, after restarts and on all
 * replicas, and opaque to clients.
 *
 * @param name The name of the provider or of the issuer in the configuration.
 * @param subject The `sub` that it asserts.
 */
export function subjectOf(source: SubjectSource, name: string, subject: string): string {
  return digest(source, name, subject);
}

/** The `sid` of the front door's tokens: the session at the provider, so that an event of the provider finds it. */
export function providerSession(provider: string, sid: string): string {
  return digest('session', provider, sid);
}

/** The `email_digest` of the front door's tokens: clients need not learn the address. @param email In lower case. */
export function emailDigest(provider: string, email: string): string {
  return digest('email', provider, email);
}

function digest(...parts: readonly string[]): string {
  return hash('sha256', lengthPrefixed(['sallyport front door', ...parts]), 'base64url');
}
