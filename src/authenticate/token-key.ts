import { hash } from 'node:crypto';
import type { PresentedToken } from '../model/grant.ts';

const keys = new WeakMap<PresentedToken, string>();

/** By what a token is remembered: SHA-256, so that no cache holds what opens a door. Made once for each presented token. */
export function tokenKey(token: PresentedToken): string {
  const known = keys.get(token);
  if (known !== undefined) return known;
  const key = hash('sha256', token.value, 'base64url');
  keys.set(token, key);
  return key;
}
