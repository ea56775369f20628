import { createEventListFilter, createJsonListFilter, type BodyFilter } from '../mcp/list-filter.ts';
import { listMethods } from '../mcp/lists.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant } from '../model/grant.ts';
import type { McpTarget } from '../model/policy.ts';
import type { Route } from '../model/route.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** Whether the answer to a call may hold a list that the route's policy wants filtered, and so must not be compressed. */
export function mayHoldList(route: Route, call: Call, { action: { attempt } }: Grant): boolean {
  if (route.policy?.lists !== 'filter' || attempt.kind !== 'mcp') return false;
  if (attempt.method !== undefined) return listMethods.has(attempt.method);
  // Legacy revisions: a stream that broke off is resumed by another request.
  return call.fields.lastEventId !== undefined;
}

/**
 * The filter for an answer that may hold a list.
 *
 * @throws {Denial} `upstream.invalid` for a form that cannot be read, and so cannot be filtered.
 */
export function createListFilter(answer: ResponseHeaders, { principal }: Grant, { policy }: Route): BodyFilter {
  if (policy === undefined || principal === undefined) throw new TypeError('a list to filter, without policy or principal');
  if (answer.isEncoded) throw new Denial('upstream.invalid', 'a compressed list cannot be filtered');
  const visible = (target: McpTarget): boolean => policy.couldCall(principal, target);
  if (answer.isEventStream) return createEventListFilter(visible);
  if (answer.isJson) return createJsonListFilter(visible);
  throw new Denial('upstream.invalid', 'a list that is neither JSON nor an event stream');
}
