import { hash } from 'node:crypto';
import { lengthPrefixed } from '../lib/length-prefixed.ts';

/** The party that vouches for a subject: a provider, or an issuer of assertions with subjects of its own. */
export type SubjectSource = 'provider' | 'assertion';

/**
 * The `sub` of a person: the same at each sign-in, after restarts and on all replicas, and opaque to clients.
 *
 * @param name The name of the provider or of the issuer in the configuration.
 * @param subject The `sub` that it asserts.
 */
export function subjectOf(source: SubjectSource, name: string, subject: string): string {
  return hash('sha256', lengthPrefixed(['sallyport front door', source, name, subject]), 'base64url');
}
