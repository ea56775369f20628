import { createEventFilter, createJsonFilter, type BodyFilter, type Rewriting } from '../mcp/body-filter.ts';
import type { Call } from '../model/call.ts';
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
export type ChooseFilter = (answer: ResponseHeaders) => BodyFilter | undefined;

/**
 * What may have to be changed in the answer to a call: lists, handles, or both in a stream that is resumed. Undefined
 * for nothing, which most answers are: they may be compressed, and are never held.
 */
export function answerFilter(
  route: Route,
  call: Call,
  grant: Grant,
  bindHandles: BindHandles,
): ChooseFilter | undefined {
  const lists = mayHoldList(route, grant) ? listRewriting(grant, route) : undefined;
  const tasks = taskListRewriting(grant);
  const handles = grant.action.mayYieldHandle ? handleRewriting(grant, bindHandles) : undefined;
  const rewritings = [lists, tasks, handles].filter((each) => each !== undefined);
  if (rewritings.length === 0) return undefined;
  const rewriting = rewritings.reduce(both);
  return (answer) => filterOf(answer, rewriting);
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
