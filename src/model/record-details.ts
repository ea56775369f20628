import { type MemberReader, unreachable } from '../lib/json/pointer.ts';
import type { Principal } from './principal.ts';

/** What records say of a call and its caller besides the decision: `log` of gateway.yaml. */
export interface RecordDetails {
  readonly paths: boolean;
  readonly addresses: boolean;
  readonly claims: readonly RecordedClaim[];
}

/** A claim that people want to read in records. */
export interface RecordedClaim {
  /** As written: a name, or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
}

/** The longest text of a claim, in UTF-16 code units. */
const MAX_LENGTH = 256;

/**
 * The listed claims of a caller, those that it has. A text is cut at 256 characters. So is the JSON of a list or an
 * object, which becomes a text.
 */
export function listedClaims(
  listed: readonly RecordedClaim[],
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | number | boolean>> | undefined {
  const found = listed.flatMap(({ name, read }) => {
    const value = read(claims);
    return value === undefined || value === null || value === unreachable ? [] : [[name, plain(value)] as const];
  });
  // Not by assignment: a claim may be named `__proto__`.
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function plain(value: unknown): string | number | boolean {
  if (typeof value === 'boolean' || typeof value === 'number') return value;
  return (typeof value === 'string' ? value : json(value)).slice(0, MAX_LENGTH);
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // A value thousands of levels deep: JSON.parse can read it, but JSON.stringify cannot write it.
    return '';
  }
}

type ListedClaims = ReturnType<typeof listedClaims>;

/** A principal stays the same object while its token is cached. */
const known = new WeakMap<Principal, { readonly details: RecordDetails; readonly claims: ListedClaims }>();

/** The listed claims of a caller, read once for each cached token. */
export function recordedClaims(principal: Principal | undefined, details: RecordDetails | undefined): ListedClaims {
  if (principal === undefined || details === undefined || details.claims.length === 0) return undefined;
  const cached = known.get(principal);
  if (cached?.details === details) return cached.claims;
  const claims = listedClaims(details.claims, principal.claims);
  known.set(principal, { details, claims });
  return claims;
}
