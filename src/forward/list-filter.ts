import type { Rewriting } from '../mcp/body-filter.ts';
import { filteredMessage, listMethods, withoutTasks } from '../mcp/lists.ts';
import type { Grant } from '../model/grant.ts';
import type { McpTarget } from '../model/policy.ts';
import type { Route } from '../model/route.ts';

/** Whether the answer to a call may hold a list that the route's policy wants filtered, and so must not be compressed. */
export function mayHoldList(route: Route, { action: { attempt } }: Grant): boolean {
  if (route.policy?.lists !== 'filter' || attempt.kind !== 'mcp') return false;
  // Legacy revisions: a stream that broke off is resumed by another request, which may be any GET.
  return attempt.method === undefined || listMethods.has(attempt.method);
}

/**
 * What takes the tasks out of an answer that may list them; undefined where it does not. Only that to `tasks/list` itself
 * must be read whole: elsewhere the ids of foreign tasks stay the upstream's, which open nothing here.
 */
export function taskListRewriting({ action: { attempt } }: Grant): Rewriting | undefined {
  if (attempt.kind !== 'mcp') return undefined;
  const { method } = attempt;
  if (method !== undefined && !method.startsWith('tasks/')) return undefined;
  const mustRead = method === 'tasks/list';
  return { concerns: (part) => mustRead || part.includes('taskId'), rewrite, mustRead };

  function rewrite(text: string): string | undefined {
    // What lists none stays as it is, to the byte.
    if (!mustRead && !text.includes('"tasks"')) return undefined;
    try {
      return withoutTasks(text);
    } catch (error) {
      if (mustRead || !(error instanceof SyntaxError)) throw error;
      return undefined;
    }
  }
}

/** What narrows the lists of an answer to what this caller could call. */
export function listRewriting({ principal }: Grant, { policy }: Route): Rewriting {
  if (policy === undefined || principal === undefined)
    throw new TypeError('a list to filter, without policy or principal');
  const visible = (target: McpTarget): boolean => policy.couldCall(principal, target);
  return { concerns: () => true, rewrite: (text) => filteredMessage(text, visible), mustRead: true };
}
