import { answerOutcome, mayBeAnswer, type AnswerOutcome } from '../../mcp/answer-outcome.ts';
import type { Rewriting } from '../../mcp/body-filter.ts';
import type { CallOutcome, CountedCall } from '../../model/counted-call.ts';
import type { Action } from '../../model/grant.ts';
import { noMethod } from '../../model/mcp.ts';

/** How each answer settles its call. */
const settlements: Readonly<Record<AnswerOutcome, CallOutcome>> = {
  answered: 'answered',
  failed: 'returned',
  waiting: 'waiting',
  task: 'task',
};

/** Settles a counted call by its answer, and changes nothing. A call whose answer is not found stays counted. */
export function outcomeReading({ attempt, messageId }: Action, counted: CountedCall): Rewriting {
  const method = attempt.kind === 'mcp' ? attempt.method : noMethod;
  return {
    concerns: mayBeAnswer,
    rewrite(text) {
      const outcome = answerOutcome(text, messageId, method);
      if (outcome !== undefined) counted.settle(settlements[outcome], 'the upstream answered with an error');
      return undefined;
    },
    mustRead: false,
  };
}

/**
 * The statuses by which a proxy before the upstream says that it got no answer of it (RFC 9110 §15.6.3, §15.6.5; 520
 * and 524: Cloudflare), or that the client left (nginx): the upstream may have acted.
 */
const ofProxies: ReadonlySet<number> = new Set([499, 502, 504, 520, 524]);

/**
 * The statuses that `Accept`, conditions and `Range` of the caller cause (RFC 9110 §15.5.7, §15.5.13, §15.5.17). Some
 * upstreams look at these fields only after they acted.
 */
const ofCallers: ReadonlySet<number> = new Set([406, 412, 416]);

/** How the status alone settles a call; undefined if it does not. */
export function outcomeOfStatus(status: number): CallOutcome | undefined {
  if (status < 400 || ofProxies.has(status)) return undefined;
  return ofCallers.has(status) ? 'unclear' : 'returned';
}
