/** @module Members of a decision: those read back from a line of the log, which others may write, and its claims. */

import type { RecordDetails, RecordedClaim } from './outcome.ts';
import { isObject } from '../lib/json/own-member.ts';
import { targetKinds } from './mcp.ts';
import type { McpTarget } from './policy.ts';
import type { Claims, Principal } from './principal.ts';
import { unreachable } from '../lib/json/pointer.ts';

/**
 * The member `input` of a record: what the decision depended on, besides the other members. It is enough to decide
 * again with an edited policy, and holds only what the policy reads. It never holds arguments, which are part of the
 * request body.
 */
export interface DecisionInput {
  /** The claims that the policy reads, by their names or JSON Pointers as it has them. */
  readonly claims?: Claims;
  /** The names of claims that are too long to be logged. */
  readonly omitted?: readonly string[];
  /** `exp - iat`, in seconds. */
  readonly lifetime?: number;
  /** What an MCP message acts on, where that is not the member `tool` alone. */
  readonly targets?: readonly McpTarget[];
}

/** A log line has a member of another type than the gateway writes. */
export class MalformedMember extends Error {
  override readonly name = 'MalformedMember';
}

/** A text. */
export function textIn(logged: unknown): string | undefined {
  if (logged !== undefined && typeof logged !== 'string') throw new MalformedMember();
  return logged;
}

/** A list of texts. */
export function textsIn(logged: unknown): readonly string[] | undefined {
  if (logged === undefined) return undefined;
  if (!Array.isArray(logged) || !logged.every((each) => typeof each === 'string')) throw new MalformedMember();
  return logged;
}

/** Milliseconds since the epoch; NaN without a time. */
export function timeIn(logged: unknown): number {
  if (logged === undefined) return NaN;
  const time = Date.parse(textIn(logged) ?? '');
  if (Number.isNaN(time)) throw new MalformedMember();
  return time;
}

/** A boolean. */
export function flagIn(logged: unknown): boolean {
  if (typeof logged !== 'boolean') throw new MalformedMember();
  return logged;
}

/** More than the longest logged claim can nest. What reads a record may recurse. */
const MAX_DEPTH = 300;

/** A {@link DecisionInput}. */
export function inputIn(logged: unknown = {}): DecisionInput {
  if (!isObject(logged)) throw new MalformedMember();
  const { claims = {}, omitted = [], lifetime = 0, targets = [] } = logged;
  const isWellFormed =
    isObject(claims) &&
    Object.keys(claims).every((name) => name.split('/').length <= MAX_DEPTH) &&
    Array.isArray(omitted) &&
    omitted.every((name) => typeof name === 'string') &&
    typeof lifetime === 'number' &&
    Array.isArray(targets) &&
    targets.every(isTarget);
  if (!isWellFormed) throw new MalformedMember();
  return logged;
}

function isTarget(target: unknown): boolean {
  if (!isObject(target)) return false;
  const { kind, name } = target;
  return targetKinds.some((each) => each === kind) && typeof name === 'string';
}

/** Whether the line says `true`. */
export function isTrue(logged: unknown): boolean {
  return logged === true;
}

/** The log lacks the member. */
export function unlogged(): undefined {
  return undefined;
}

/** Claims. */
export function claimsIn(logged: unknown): Claims | undefined {
  if (logged !== undefined && !isObject(logged)) throw new MalformedMember();
  return logged;
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
