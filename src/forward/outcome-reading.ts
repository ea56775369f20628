import { answerOutcome, mayBeAnswer, type AnswerOutcome } from '../mcp/answer-outcome.ts';
import type { Rewriting } from '../mcp/body-filter.ts';
import type { CallOutcome, CountedCall } from '../model/counted-call.ts';
import type { Action } from '../model/grant.ts';
import { mcpMethod } from '../model/mcp-methods.ts';

/** How each answer settles its call. */
const settlements: Readonly<Record<AnswerOutcome, CallOutcome>> = {
  answered: 'answered',
  failed: 'returned',
  waiting: 'waiting',
  task: 'task',
};

/** Settles a counted call by its answer, and changes nothing. A call whose answer is not found stays counted. */
export function outcomeReading({ attempt, messageId }: Action, counted: CountedCall): Rewriting {
  const method = mcpMethod(attempt.kind === 'mcp' ? attempt.method : undefined);
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
