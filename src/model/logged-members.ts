/** @module How members of a decision are read back from a line of the log, which another program may have written. */

import { isObject } from '../lib/json/own-member.ts';
import { targetKinds } from './mcp.ts';
import type { McpTarget } from './policy.ts';
import type { Claims } from './principal.ts';

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
