import { hash, timingSafeEqual } from 'node:crypto';

/** Compares secrets in constant time, whatever their lengths, by digests of one length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
