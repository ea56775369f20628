import { folded } from '../lib/folded.ts';
import { Denial } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';

/**
 * A member of an object that a client sent, or undefined. A key that differs from `name` only in case is refused: some
 * parsers take it for the member (Go's do), and would read what was never looked at here (CVE-2026-27896). Beside the
 * member itself such a key has been refused already.
 *
 * @throws {Denial} `body.ambiguous`
 */
export function member(object: Readonly<Record<string, unknown>>, name: string, messageId: MessageId): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const wanted = folded(name);
  const variant = Object.keys(object).find((key) => folded(key) === wanted);
  if (variant === undefined) return undefined;
  throw new Denial('body.ambiguous', `a key that differs from ${name} only in case`, { messageId });
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
