import { Denial } from '../model/denial.ts';
import type { Confirmation } from '../model/principal.ts';

/** SHA-256 in base64url without padding, RFC 7515 §2: 43 characters. */
const thumbprint = /^[A-Za-z0-9_-]{43}$/;

/**
 * What a token is bound to, from its `cnf`, RFC 7800 §3.1: `jkt` (RFC 9449 §6.1), `x5t#S256` (RFC 8705 §3.1) or both;
 * undefined for a bearer token.
 *
 * @throws {Denial} `token.sender_constrained` for anything else. RFC 7800 §3.1 lets a reader ignore members that it does
 *   not understand; then whoever stole a token bound in a newer way could use it here.
 */
export function confirmationOf(cnf: unknown): Confirmation | undefined {
  if (cnf === undefined) return undefined;
  if (typeof cnf !== 'object' || cnf === null || Array.isArray(cnf)) throw uncheckable('cnf is not an object');
  const { jkt, 'x5t#S256': x5t, ...others } = cnf as Record<string, unknown>;
  if (Object.keys(others).length > 0) throw uncheckable('cnf has a member besides jkt and x5t#S256');
  if (jkt === undefined && x5t === undefined) throw uncheckable('cnf is empty');
  return { jwkThumbprint: digest(jkt, 'jkt'), certificateThumbprint: digest(x5t, 'x5t#S256') };
}

function digest(value: unknown, name: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && thumbprint.test(value)) return value;
  throw uncheckable(`${name} of cnf is not a SHA-256 in base64url`);
}

function uncheckable(why: string): Denial {
  return new Denial('token.sender_constrained', `the token is bound to a key that we cannot check: ${why}`);
}
