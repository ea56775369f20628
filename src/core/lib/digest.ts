import { hash, timingSafeEqual } from 'node:crypto';

/** The SHA-256 of an id in base64url, by which a store names what must not be read from it. */
export function digestOf(id: string): string {
  return hash('sha256', id, 'base64url');
}

/** The thumbprint of a public key, RFC 7638 §3, from its required members and no others. */
export function keyThumbprint(members: Readonly<Record<string, string>>): string {
  const inOrder = Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify(Object.fromEntries(inOrder)), 'base64url');
}

/** The thumbprint of a certificate in DER, `x5t#S256` of RFC 8705 §3.1. */
export function certificateThumbprint(der: Buffer): string {
  return hash('sha256', der, 'base64url');
}

/** Whether `value` has the form of a thumbprint: SHA-256 in base64url without padding (RFC 7515 §2), 43 characters. */
export function isThumbprint(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value);
}

/** Compares secrets in constant time, whatever their lengths, by digests of one length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

/**
 * Joins strings into one, each preceded by its length in UTF-8 bytes. Two different lists never give the same text, so
 * that no caller can choose a name that forms the key of another caller.
 */
export function lengthPrefixed(parts: readonly string[]): string {
  return parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
}
