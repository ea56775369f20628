import { hasCaseVariant } from '../lib/json/own-member.ts';
import { Denial } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';

/**
 * A member of an object that a client sent; undefined where it has none. The scanner has already refused two keys that
 * differ only in case; this refuses one such key alone.
 *
 * @throws {Denial} `body.ambiguous` for a key that some parsers take for the member.
 */
export function unambiguousMember(
  object: Readonly<Record<string, unknown>>,
  name: string,
  messageId: MessageId,
): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  if (!hasCaseVariant(object, name)) return undefined;
  throw new Denial('body.ambiguous', `a key that differs from ${name} only in case`, { messageId });
}
