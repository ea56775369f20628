/** @module What records say besides the decision, where `log` lists it: claims of the caller, arguments of the call. */

import { hash } from 'node:crypto';
import { canonicalJson } from '../lib/json/canonical.ts';
import { hasDigits } from '../lib/json/lossless.ts';
import { writtenJson } from '../lib/json/parsed.ts';
import { unreachable } from '../lib/json/pointer.ts';
import type { RecordDetails, RecordedClaim } from './outcome.ts';
import { type Attempt, calledTool } from './policy.ts';
import type { Principal } from './principal.ts';

/** The longest text of a claim or an argument, in UTF-16 code units. */
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
  return (typeof value === 'string' ? value : (writtenJson(value) ?? '')).slice(0, MAX_LENGTH);
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

interface Recorded {
  readonly attempt: Attempt | undefined;
  readonly details?: RecordDetails | undefined;
}

/** SHA-256 in base64url of the canonical form of the arguments, as approvals bind it; absent ones are `{}`. */
export function argumentsDigest({ attempt, details }: Recorded): string | undefined {
  if (details?.arguments?.digest !== true || calledTool(attempt) === undefined) return undefined;
  return hash('sha256', canonicalJson(exactArguments(attempt) ?? {}), 'base64url');
}

/** The listed arguments that are scalars. A text is cut; a number keeps its digits. */
export function shownArguments({ attempt, details }: Recorded): Readonly<Record<string, unknown>> | undefined {
  const show = details?.arguments?.show ?? [];
  if (show.length === 0 || calledTool(attempt) === undefined) return undefined;
  const given = exactArguments(attempt);
  const shown: (readonly [string, unknown])[] = [];
  for (const { pointer, read } of show) {
    const value = read(given);
    if (isScalar(value)) shown.push([pointer, typeof value === 'string' ? value.slice(0, MAX_LENGTH) : value]);
  }
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

function exactArguments(attempt: Attempt | undefined): unknown {
  return attempt?.kind === 'mcp' ? (attempt.exactArguments?.() ?? attempt.arguments) : undefined;
}

function isScalar(value: unknown): boolean {
  if (value === undefined || value === unreachable) return false;
  return value === null || typeof value !== 'object' || hasDigits(value);
}
