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
