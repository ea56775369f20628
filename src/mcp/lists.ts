import { folded } from '../lib/folded.ts';
import { Denial } from '../model/denial.ts';
import type { McpTarget } from '../model/policy.ts';
import { isObject } from './member.ts';
import { parseToRewrite } from '../json/lossless.ts';

/** The members of a result that are lists, and what names an entry in each. */
const lists = [
  { member: 'tools', kind: 'tool', name: 'name' },
  { member: 'resources', kind: 'resource', name: 'uri' },
  { member: 'resourceTemplates', kind: 'template', name: 'uriTemplate' },
  { member: 'prompts', kind: 'prompt', name: 'name' },
] as const;

/** The methods whose results are lists. */
export const listMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
]);

/**
 * The text of a JSON-RPC message without the list entries that are not `visible`; undefined where that is the text itself.
 * Any other text is written anew from what was decided on: of a key that stands twice some parsers take the first copy,
 * others the last. A list that depends on the caller is not `public` to caches any more, on any page of it.
 *
 * @throws {SyntaxError} for what is not JSON: what cannot be read cannot be filtered.
 * @throws {Denial} `upstream.invalid` for a message whose keys some parsers would take for others, and for a list that
 *   is none.
 */
export function filteredMessage(text: string, visible: (target: McpTarget) => boolean): string | undefined {
  return writtenAnew(text, (message) => filterResult(message, visible));
}

/**
 * The text of a message without the tasks that it lists (`tasks/list` of 2025-11-25), or undefined where it lists none. A
 * task in a list was created by any caller: its status and its messages are for that caller, and its id says nothing of
 * whose it is.
 *
 * @throws as {@link filteredMessage}.
 */
export function withoutTasks(text: string): string | undefined {
  return writtenAnew(text, (message) => {
    const result = resultOf(message);
    if (result === undefined) return;
    const tasks = ownMember(result, 'tasks');
    if (!Array.isArray(tasks)) return;
    result['tasks'] = tasks.filter((task: unknown) => !isObject(task) || ownMember(task, 'taskId') === undefined);
  });
}

/** The text of a message, or of each of a batch, after `change`; undefined where that is the text itself. */
function writtenAnew(text: string, change: (message: unknown) => void): string | undefined {
  const message = parseToRewrite(text);
  const messages = Array.isArray(message) ? (message as unknown[]) : [message];
  for (const each of messages) change(each);
  const written = JSON.stringify(message);
  return written === text ? undefined : written;
}

function resultOf(message: unknown): Record<string, unknown> | undefined {
  const result = isObject(message) ? ownMember(message, 'result') : undefined;
  return isObject(result) ? result : undefined;
}

function filterResult(message: unknown, visible: (target: McpTarget) => boolean): void {
  if (Array.isArray(message)) throw unreadable('a batch within a batch');
  const result = resultOf(message);
  if (result === undefined) return;
  const isPublic = ownMember(result, 'cacheScope') === 'public';
  for (const { member, kind, name } of lists) {
    const entries = ownMember(result, member);
    // Go writes an empty list as null.
    if (entries === undefined || entries === null) continue;
    if (!Array.isArray(entries)) throw unreadable(`${member} is no list`);
    result[member] = entries.filter((entry: unknown) => {
      const named = isObject(entry) ? ownMember(entry, name) : undefined;
      // What has no name cannot be called, and cannot be judged.
      return typeof named === 'string' && visible({ kind, name: named });
    });
    if (isPublic) result['cacheScope'] = 'private';
  }
}

/** A member that decides. Go's parser takes a key that differs only in case for it, and the last of them counts there. */
function ownMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  const wanted = folded(name);
  for (const key of Object.keys(object)) {
    if (key !== name && folded(key) === wanted) throw unreadable(`a key that differs from ${name} only in case`);
  }
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function unreadable(what: string): Denial {
  return new Denial('upstream.invalid', `${what}: a list like that cannot be filtered`);
}
