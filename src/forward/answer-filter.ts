import { createEventIdFilter } from '../mcp/event-ids.ts';
import { createEventFilter, createJsonFilter, type BodyFilter, type Rewriting } from '../mcp/body-filter.ts';
import { Denial } from '../model/denial.ts';
import type { Grant } from '../model/grant.ts';
import type { Route } from '../model/route.ts';
import { handleRewriting, type BindHandles } from './handle-binding.ts';
import { listRewriting, mayHoldList, taskListRewriting } from './list-filter.ts';
import type { ResponseHeaders } from './response-headers.ts';

/**
 * Chooses the filter for an answer by its header section; undefined lets the answer flow as it is.
 *
 * @throws {Denial} `upstream.invalid` for a form that cannot be read although it must be.
 */
type ChooseFilter = (answer: ResponseHeaders) => BodyFilter | undefined;

/** What a grant's caller sees for the id of an event that the upstream sends in a session. */
export type BindEventId = (id: string, grant: Grant, sessionId: string | undefined) => string;

/** What may have to be changed in the answer to a call. */
export interface AnswerFilter {
  /** Whether messages may be changed, whatever the form of the answer. */
  readonly rewrites: boolean;
  /** Whether the upstream is asked not to compress. */
  readonly uncompressed: boolean;
  readonly choose: ChooseFilter;
}

/**
 * What may have to be changed in the answer to a call: lists, handles, or both in a stream that is resumed, and the ids of
 * events in any stream of an MCP route. Most answers are neither read nor held: they may be compressed.
 */
export function answerFilter(
  route: Route,
  grant: Grant,
  bindHandles: BindHandles,
  bindEventId: BindEventId,
): AnswerFilter | undefined {
  if (route.protocol === 'http') return undefined;
  const rewriting = rewritingOf(route, grant, bindHandles);
  const rewrites = rewriting !== undefined;
  return {
    rewrites,
    uncompressed: rewrites || mayBeResumed(grant),
    choose(answer) {
      const filter = rewriting && filterOf(answer, rewriting);
      if (!answer.isEventStream || answer.isEncoded) return filter;
      const sessionId = grant.action.era === 'modern' ? undefined : (answer.sessionId ?? grant.action.sessionId);
      const ids = createEventIdFilter((id) => bindEventId(id, grant, sessionId));
      return filter === undefined ? ids : inTurn(filter, ids);
    },
  };
}

/** In a session a stream that broke off may be asked for again, by the id of its last event. */
function mayBeResumed({ action: { era, sessionId, attempt } }: Grant): boolean {
  if (sessionId !== undefined) return true;
  return era === 'legacy' && attempt.kind === 'mcp' && (attempt.method ?? 'initialize') === 'initialize';
}

function inTurn(first: BodyFilter, second: BodyFilter): BodyFilter {
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

function filterOf(answer: ResponseHeaders, rewriting: Rewriting): BodyFilter | undefined {
  if (!answer.isEncoded && answer.isEventStream) return createEventFilter(rewriting);
  if (!answer.isEncoded && answer.isJson) return createJsonFilter(rewriting);
  // Without a type there is no body, or none that a client reads.
  if (!rewriting.mustRead || !answer.hasType) return undefined;
  throw new Denial(
    'upstream.invalid',
    'a list that is compressed, or neither JSON nor an event stream, cannot be filtered',
  );
}
