import type { McpTarget } from '../model/policy.ts';
import { parseToRewrite } from './json-text.ts';

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
 * The text of a JSON-RPC message without the list entries that are not `visible`, or undefined where nothing is to be
 * changed. A list that depends on who asks is not `public` to caches any more, on any page of it.
 *
 * @throws {SyntaxError} for what is not JSON: what cannot be read cannot be filtered.
 */
export function filteredMessage(text: string, visible: (target: McpTarget) => boolean): string | undefined {
  const message = parseToRewrite(text);
  const messages = Array.isArray(message) ? (message as unknown[]) : [message];
  let changed = false;
  for (const each of messages) changed = filterResult(each, visible) || changed;
  return changed ? JSON.stringify(message) : undefined;
}

/**
 * The text of a message without the tasks that it lists (`tasks/list` of 2025-11-25), or undefined where it lists none. A
 * task in a list was created by any caller: its status and its messages are for that caller, and its id says nothing of
 * whose it is.
 *
 * @throws {SyntaxError} for what is not JSON.
 */
export function withoutTasks(text: string): string | undefined {
  const message = parseToRewrite(text);
  const messages = Array.isArray(message) ? (message as unknown[]) : [message];
  let changed = false;
  for (const each of messages) {
    const result = isObject(each) ? each['result'] : undefined;
    if (!isObject(result) || !Array.isArray(result['tasks'])) continue;
    result['tasks'] = result['tasks'].filter((task: unknown) => !isObject(task) || !Object.hasOwn(task, 'taskId'));
    // Written anew even where it is empty: of a key that stands twice another parser may read the first.
    changed = true;
  }
  return changed ? JSON.stringify(message) : undefined;
}

function filterResult(message: unknown, visible: (target: McpTarget) => boolean): boolean {
  const result = isObject(message) ? message['result'] : undefined;
  if (!isObject(result)) return false;
  let changed = false;
  for (const { member, kind, name } of lists) {
    const entries = result[member];
    if (!Array.isArray(entries)) continue;
    const kept = entries.filter((entry: unknown) => {
      const named = isObject(entry) ? entry[name] : undefined;
      // What has no name cannot be called, and cannot be judged.
      return typeof named === 'string' && visible({ kind, name: named });
    });
    changed ||= kept.length !== entries.length;
    result[member] = kept;
    if (result['cacheScope'] === 'public') {
      result['cacheScope'] = 'private';
      changed = true;
    }
  }
  return changed;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
