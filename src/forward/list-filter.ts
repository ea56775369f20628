import type { Rewriting } from '../mcp/body-filter.ts';
import { filteredMessage, listMethods } from '../mcp/lists.ts';
import type { Grant } from '../model/grant.ts';
import type { McpTarget } from '../model/policy.ts';
import type { Route } from '../model/route.ts';

/** Whether the answer to a call may hold a list that the route's policy wants filtered, and so must not be compressed. */
export function mayHoldList(route: Route, { action: { attempt } }: Grant): boolean {
  if (route.policy?.lists !== 'filter' || attempt.kind !== 'mcp') return false;
  // Legacy revisions: a stream that broke off is resumed by another request, which may be any GET.
  return attempt.method === undefined || listMethods.has(attempt.method);
}

/** What narrows the lists of an answer to what this caller could call. */
export function listRewriting({ principal }: Grant, { policy }: Route): Rewriting {
  if (policy === undefined || principal === undefined)
    throw new TypeError('a list to filter, without policy or principal');
  const visible = (target: McpTarget): boolean => policy.couldCall(principal, target);
  return { concerns: () => true, rewrite: (text) => filteredMessage(text, visible), mustRead: true };
}
