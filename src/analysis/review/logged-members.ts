/** @module The members of a decision, read back from a line of the log, which others may write. */

import { isObject } from '../../core/lib/json/own-member.ts';
import type { DecisionInput, DecisionRecord, LoggedName } from '../../core/model/decision.ts';
import { targetKinds } from '../../core/model/mcp.ts';
import type { Claims } from '../../core/model/principal.ts';

/** A log line has a member of another type than the gateway writes. */
export class MalformedMember extends Error {
  override readonly name = 'MalformedMember';
}

function textIn(logged: unknown): string | undefined {
  if (logged !== undefined && typeof logged !== 'string') throw new MalformedMember();
  return logged;
}

function textsIn(logged: unknown): readonly string[] | undefined {
  if (logged === undefined) return undefined;
  if (!Array.isArray(logged) || !logged.every((each) => typeof each === 'string')) throw new MalformedMember();
  return logged;
}

/** Milliseconds since the epoch; NaN without a time. */
function timeIn(logged: unknown): number {
  if (logged === undefined) return NaN;
  const time = Date.parse(textIn(logged) ?? '');
  if (Number.isNaN(time)) throw new MalformedMember();
  return time;
}

function flagIn(logged: unknown): boolean {
  if (typeof logged !== 'boolean') throw new MalformedMember();
  return logged;
}

/** More than the longest logged claim can nest. What reads a record may recurse. */
export const MAX_DEPTH = 300;

function inputIn(logged: unknown = {}): DecisionInput {
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

function claimsIn(logged: unknown): Claims | undefined {
  if (logged !== undefined && !isObject(logged)) throw new MalformedMember();
  return logged;
}

/**
 * How each member is read from that of a line, which is undefined where the line lacks it. Each throws a
 * {@link MalformedMember} for a type that the gateway does not write.
 */
export const readers: { readonly [Name in LoggedName]: (logged: unknown) => DecisionRecord[Name] } = {
  at: timeIn,
  id: (id) => textIn(id) ?? '',
  requestId: (id) => textIn(id) ?? '',
  address: textIn,
  path: textIn,
  route: textIn,
  allow: flagIn,
  shadow: (shadow) => shadow === true,
  reason: textIn,
  detail: textIn,
  subject: textIn,
  clientId: textIn,
  issuer: textIn,
  actors: textsIn,
  method: textIn,
  tool: textIn,
  inner: textsIn,
  scope: textIn,
  neededScope: textIn,
  policy: textIn,
  rule: textIn,
  input: inputIn,
  claims: claimsIn,
  argumentsDigest: textIn,
  arguments: claimsIn,
  durationMs: (duration) => (typeof duration === 'number' ? duration : NaN),
  approval: textIn,
  traceId: textIn,
};
