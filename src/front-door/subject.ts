import { hash } from 'node:crypto';
import { lengthPrefixed } from '../lib/length-prefixed.ts';

/** The party that vouches for a subject: a provider, or an issuer of assertions with subjects of its own. */
export type SubjectSource = 'provider' | 'assertion';

/** OpenID Connect Core §2. */
const MAX_LENGTH = 255;

/**
 * Requires that a `sub` names one person: all people with an empty one would be the same person.
 *
 * @throws {Error} for any other value than 1 to 255 characters.
 */
export function requireSubject(subject: unknown): asserts subject is string {
  if (typeof subject === 'string' && subject !== '' && subject.length <= MAX_LENGTH) return;
  throw new Error(`sub is not a text of 1 to ${MAX_LENGTH} characters`);
}

/**
 * The `sub` of a person: the same at each sign-in, after restarts and on all replicas, and opaque to clients.
 *
 * @param name The name of the provider or of the issuer in the configuration.
 * @param subject The `sub` that it asserts.
 */
export function subjectOf(source: SubjectSource, name: string, subject: string): string {
  return hash('sha256', lengthPrefixed(['sallyport front door', source, name, subject]), 'base64url');
}
