import { Denial } from '../model/denial.ts';
import { knownLists, type McpList, type TargetKind } from '../model/mcp-methods.ts';
import type { McpTarget } from '../model/policy.ts';
import { parseToRewrite } from '../json/lossless.ts';
import { hasCaseVariant, isObject, ownMember } from '../json/own-member.ts';

/** The lists that a policy filters. The gateway looks for each in every result: a stream may resume any answer. */
const filteredLists = knownLists.filter((list): list is McpList<TargetKind> => list.kind !== 'task');
const taskLists = knownLists.filter(({ kind }) => kind === 'task');

/**
 * The text of a JSON-RPC message without the list entries that are not `visible`; undefined where the text stays as it
 * is. Any other text is serialized again from the value that was filtered: of a duplicate key some parsers take the
 * first copy, others the last. A list that depends on the caller is no longer `public` to caches, on any page.
 *
 * @param read Called with the parsed message or batch before it is filtered.
 * @throws {SyntaxError} for text that is not JSON, since it cannot be filtered.
 * @throws {Denial} `upstream.invalid` for keys that some parsers take for others, and for a list that is not an array.
 */
export function filteredMessage(
  text: string,
  visible: (target: McpTarget) => boolean,
  read?: (message: unknown) => void,
): string | undefined {
  return rewritten(text, (message) => filterResult(message, visible), read);
}

/**
 * The text of a message without the tasks that it lists (`tasks/list` of 2025-11-25); undefined where the text stays as
 * it is. Any caller may have created a listed task: its status and messages are for that caller, and its id names no
 * owner.
 *
 * @throws as {@link filteredMessage}.
 */
export function withoutTasks(text: string): string | undefined {
  return rewritten(text, (message) => {
    const result = resultOf(message);
    if (result === undefined) return;
    for (const { member, name } of taskLists) {
      const tasks = decidingMember(result, member);
      if (!Array.isArray(tasks)) continue;
      result[member] = tasks.filter((task: unknown) => !isObject(task) || decidingMember(task, name) === undefined);
    }
  });
}

/** Whether a message may hold a list of tasks. */
export function mayListTasks(message: Buffer | string): boolean {
  return taskLists.some(({ member, name }) => message.includes(name) && message.includes(`"${member}"`));
}

/** The text of a message, or of a batch of them, after `change`; undefined where the text stays as it is. */
function rewritten(
  text: string,
  change: (message: unknown) => void,
  read?: (message: unknown) => void,
): string | undefined {
  const message = parseToRewrite(text);
  read?.(message);
  const messages = Array.isArray(message) ? (message as unknown[]) : [message];
  for (const each of messages) change(each);
  const written = JSON.stringify(message);
  return written === text ? undefined : written;
}

function resultOf(message: unknown): Record<string, unknown> | undefined {
  const result = isObject(message) ? decidingMember(message, 'result') : undefined;
  return isObject(result) ? result : undefined;
}

function filterResult(message: unknown, visible: (target: McpTarget) => boolean): void {
  if (Array.isArray(message)) throw unreadable('a batch within a batch');
  const result = resultOf(message);
  if (result === undefined) return;
  const isPublic = decidingMember(result, 'cacheScope') === 'public';
  for (const { member, kind, name } of filteredLists) {
    const entries = decidingMember(result, member);
    // Go writes an empty list as null.
    if (entries === undefined || entries === null) continue;
    if (!Array.isArray(entries)) throw unreadable(`${member} is not an array`);
    result[member] = entries.filter((entry: unknown) => {
      const named = isObject(entry) ? decidingMember(entry, name) : undefined;
      // An entry without a name cannot be called, and the policy cannot decide on it.
      return typeof named === 'string' && visible({ kind, name: named });
    });
    if (isPublic) result['cacheScope'] = 'private';
  }
}

/** A member that the filter decides by. Go's parser also takes keys that differ only in case, and the last one wins. */
function decidingMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  if (hasCaseVariant(object, name)) throw unreadable(`a key that differs from ${name} only in case`);
  return ownMember(object, name);
}

function unreadable(what: string): Denial {
  return new Denial('upstream.invalid', `${what}: such a list cannot be filtered`);
}
