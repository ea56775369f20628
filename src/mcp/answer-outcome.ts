import { hasDuplicateMembers } from '../lib/json/scanner.ts';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import { parsedJson } from '../lib/json/parsed.ts';
import type { MessageId } from '../model/grant.ts';
import type { McpMethod } from '../model/mcp.ts';

/**
 * What an answer says of its call. `failed`: a JSON-RPC error, or a tool result with `isError`. `waiting`: the server
 * needs input of the client, and answers in another round. `task`: the result will follow.
 */
export type AnswerOutcome = 'answered' | 'failed' | 'waiting' | 'task';

/** Whether a message, or bytes with several, may be the answer to a request: progress and logs are not even parsed. */
export function mayBeAnswer(message: Buffer | string): boolean {
  return message.includes('"result"') || message.includes('"error"');
}

/**
 * What the answer to a request says of its outcome; undefined for any other message, and for an answer that parsers
 * read differently.
 *
 * @param id The id of the request. One that JavaScript cannot represent matches any answer.
 * @param method Of the request. A request for a task has the outcome of the call that created the task.
 */
export function answerOutcome(text: string, id: MessageId, { fetches }: McpMethod): AnswerOutcome | undefined {
  const message = parsedJson(text);
  // A server of 2025-03-26 may answer a single request by a batch of one.
  const [answer, second] = (Array.isArray(message) ? message : [message]).filter((each) => isAnswerTo(each, id));
  if (answer === undefined) return undefined;
  const result = ownMember(answer, 'result');
  const isUnclear = second !== undefined || (isObject(result) && isObject(ownMember(answer, 'error')));
  // A client may read it as a success, where the gateway reads an error, or the other way round.
  if (isUnclear || hasDuplicateMembers(text, message)) return undefined;
  if (!isObject(result)) return 'failed';
  return fetches === 'task' ? outcomeOfTask(result) : outcomeOfResult(result);
}

function isAnswerTo(message: unknown, id: MessageId): message is Record<string, unknown> {
  if (id === null || !isObject(message) || ownMember(message, 'method') !== undefined) return false;
  const answered = ownMember(message, 'id');
  return answered === id || typeof id === 'object';
}

function outcomeOfResult(result: Record<string, unknown>): AnswerOutcome {
  if (ownMember(result, 'isError') === true) return 'failed';
  const type = ownMember(result, 'resultType');
  if (type === 'input_required') return 'waiting';
  // SEP-2663, and 2025-11-25 §Tasks.
  return type === 'task' || isObject(ownMember(result, 'task')) ? 'task' : 'answered';
}

function outcomeOfTask(task: Record<string, unknown>): AnswerOutcome {
  const result = ownMember(task, 'result');
  return isObject(result) && ownMember(task, 'status') === 'completed' ? outcomeOfResult(result) : 'task';
}
