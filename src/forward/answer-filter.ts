import {
  type BodyFilter,
  createDroppingFilter,
  createEventFilter,
  createJsonFilter,
  createPrivateFilter,
  createUnreadableFilter,
  type Rewriting,
} from '../mcp/body-filter.ts';
import { createEventIdFilter } from '../mcp/event-ids.ts';
import { mayGiveHandle } from '../mcp/handles.ts';
import { filteredMessage, mayListTasks, withoutTasks } from '../mcp/lists.ts';
import type { ToolHeaders } from '../mcp/tool-headers.ts';
import type { Grant } from '../model/grant.ts';
import { mcpMethod } from '../model/mcp-methods.ts';
import type { McpTarget } from '../model/policy.ts';
import type { Route } from '../model/route.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** Chooses the filter for a successful answer by its header section and status; undefined lets it flow as it is. */
type ChooseFilter = (answer: ResponseHeaders, status: number) => BodyFilter | undefined;

/** What a grant's caller sees for the id of an event that the upstream sends in a session. */
export type BindEventId = (id: string, grant: Grant, sessionId: string | undefined) => string;

/** What filters need besides the call. */
interface FilterParts {
  readonly bindHandles: BindHandles;
  readonly bindEventId: BindEventId;
  /** Of the route's upstream. */
  readonly toolHeaders: ToolHeaders;
}

/** What may have to be changed in the answer to a call. */
export interface AnswerFilter {
  /** Whether messages may be changed, whatever the form of the answer. */
  readonly rewrites: boolean;
  /** What the upstream may encode with; undefined: what the client accepts. */
  readonly acceptEncoding: 'identity' | undefined;
  readonly choose: ChooseFilter;
}

/**
 * What may have to be changed in the answer to a call: lists, handles, or both in a stream that is resumed, whom a cache may
 * show it, and the ids of events in any stream of an MCP route. Most answers are neither read nor held: they may be compressed.
 */
export function answerFilter(
  route: Route,
  grant: Grant,
  { bindHandles, bindEventId, toolHeaders }: FilterParts,
): AnswerFilter | undefined {
  if (route.protocol === 'http') return undefined;
  const { attempt } = grant.action;
  const listsTools = attempt.kind === 'mcp' && mcpMethod(attempt.method).list?.kind === 'tool';
  const rewriting = rewritingOf(route, grant, bindHandles);
  const becomesPrivate = mayBePublic(route, grant);
  const rewrites = rewriting !== undefined || becomesPrivate;
  return {
    rewrites,
    acceptEncoding: rewrites || listsTools || mayBeResumed(grant) ? 'identity' : undefined,
    choose(answer, status) {
      if (becomesPrivate && answer.isEncoded) return createUnreadableFilter();
      const filters = [
        // Before any tool is taken out: what is hidden from this caller may be called by another.
        listsTools && learningFrom(answer, toolHeaders),
        rewriting && filterOf(answer, status, rewriting),
        becomesPrivate && createPrivateFilter(),
      ];
      if (answer.isEventStream && !answer.isEncoded) {
        const sessionId = grant.action.era === 'modern' ? undefined : (answer.sessionId ?? grant.action.sessionId);
        filters.push(createEventIdFilter((id) => bindEventId(id, grant, sessionId)));
      }
      return filters
        .filter((each) => each !== undefined && each !== false)
        .reduce<BodyFilter | undefined>(inTurn, undefined);
    },
  };
}

/** Whether a cache might show the result to a user for whom the policy decides otherwise. */
function mayBePublic({ policy }: Route, { action: { attempt, era } }: Grant): boolean {
  if (policy?.tellsApart !== true || attempt.kind !== 'mcp' || era !== 'modern') return false;
  return mcpMethod(attempt.method).isCacheable;
}

/** Passes a list on as it is, and learns from it which headers its tools declare; undefined where it cannot be read. */
function learningFrom(answer: ResponseHeaders, toolHeaders: ToolHeaders): BodyFilter | undefined {
  const reader = filterOf(answer, 200, {
    concerns: (list) => toolHeaders.concerns(list),
    rewrite(text) {
      toolHeaders.learn(text);
      return undefined;
    },
    mustRead: false,
  });
  return (
    reader && {
      push(chunk) {
        reader.push(chunk);
        return [chunk];
      },
      end() {
        reader.end();
        return [];
      },
    }
  );
}

/** In a session a stream that broke off may be asked for again, by the id of its last event. */
function mayBeResumed({ action: { era, sessionId, attempt } }: Grant): boolean {
  if (sessionId !== undefined) return true;
  if (era !== 'legacy' || attempt.kind !== 'mcp') return false;
  return attempt.method === undefined || mcpMethod(attempt.method).opensSession;
}

function inTurn(first: BodyFilter | undefined, second: BodyFilter): BodyFilter {
  if (first === undefined) return second;
  const then = (parts: readonly Buffer[]): readonly Buffer[] => parts.flatMap((part) => second.push(part));
  return { push: (chunk) => then(first.push(chunk)), end: () => [...then(first.end()), ...second.end()] };
}

function rewritingOf(route: Route, grant: Grant, bindHandles: BindHandles): Rewriting | undefined {
  const lists = mayHoldList(route, grant) ? listRewriting(grant, route) : undefined;
  const tasks = taskListRewriting(grant);
  const handles = grant.action.mayYieldHandle ? handleRewriting(grant, bindHandles) : undefined;
  const rewritings = [lists, tasks, handles].filter((each) => each !== undefined);
  return rewritings.length === 0 ? undefined : rewritings.reduce(both);
}

function both(first: Rewriting, second: Rewriting): Rewriting {
  return {
    concerns: (part) => first.concerns(part) || second.concerns(part),
    rewrite(text) {
      const once = first.rewrite(text);
      return second.rewrite(once ?? text) ?? once;
    },
    mustRead: first.mustRead || second.mustRead,
  };
}

function filterOf(answer: ResponseHeaders, status: number, rewriting: Rewriting): BodyFilter | undefined {
  if (!answer.isEncoded && answer.isEventStream) return createEventFilter(rewriting);
  if (!answer.isEncoded && answer.isJson) return createJsonFilter(rewriting);
  if (!rewriting.mustRead) return undefined;
  // Streamable HTTP: a 202 has no body. Servers of HTTP+SSE say "Accepted" in it.
  return status === 202 ? createDroppingFilter() : createUnreadableFilter();
}

/** Whether the answer to a call may hold a list that the route's policy wants filtered, and so must not be compressed. */
function mayHoldList(route: Route, { action: { attempt } }: Grant): boolean {
  if (route.policy?.lists !== 'filter' || attempt.kind !== 'mcp') return false;
  // Legacy revisions: a stream that broke off is resumed by another request, which may be any GET.
  if (attempt.method === undefined) return true;
  const { list } = mcpMethod(attempt.method);
  return list !== undefined && list.kind !== 'task';
}

/**
 * What takes the tasks out of an answer that may list them; undefined where it does not. Only that to `tasks/list` itself
 * must be read whole: elsewhere the ids of foreign tasks stay the upstream's, which open nothing here.
 */
function taskListRewriting({ action: { attempt } }: Grant): Rewriting | undefined {
  if (attempt.kind !== 'mcp') return undefined;
  const { method } = attempt;
  const { isTask, list } = mcpMethod(method);
  if (method !== undefined && !isTask) return undefined;
  const mustRead = list !== undefined;
  return { concerns: (part) => mustRead || mayListTasks(part), rewrite, mustRead };

  function rewrite(text: string): string | undefined {
    // What lists none stays as it is, to the byte.
    if (!mustRead && !mayListTasks(text)) return undefined;
    try {
      return withoutTasks(text);
    } catch (error) {
      if (mustRead || !(error instanceof SyntaxError)) throw error;
      return undefined;
    }
  }
}

/** What narrows the lists of an answer to what this caller could call. */
function listRewriting({ principal }: Grant, { policy }: Route): Rewriting {
  if (policy === undefined || principal === undefined)
    throw new TypeError('a list to filter, without policy or principal');
  const visible = (target: McpTarget): boolean => policy.couldCall(principal, target);
  return { concerns: () => true, rewrite: (text) => filteredMessage(text, visible), mustRead: true };
}

/** The text of a message with the upstream's handles bound to the caller; undefined where it has none. */
export type BindHandles = (text: string, grant: Grant) => string | undefined;

/** What binds the handles of an answer. Nothing has to be read: a handle that slips by unbound opens nothing. */
function handleRewriting(grant: Grant, bindHandles: BindHandles): Rewriting {
  return {
    concerns: mayGiveHandle,
    rewrite: (text) => bindHandles(text, grant),
    mustRead: false,
  };
}
