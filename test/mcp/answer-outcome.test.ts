import { expect, test } from 'vitest';
import type { Action } from '../../src/core/model/grant.ts';
import type { CountedCall } from '../../src/core/model/history.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { outcomeReading } from '../../src/mcp/answer-filter.ts';
import { answerOutcome, mayBeAnswer } from '../../src/mcp/message.ts';

const call = mcpMethod('tools/call');

const answer = (members: object, id: unknown = 1): string => JSON.stringify({ jsonrpc: '2.0', id, ...members });

test.each<[string, string, string | undefined]>([
  ['a result', answer({ result: {} }), 'answered'],
  ['a result that says that it is no error', answer({ result: { isError: false } }), 'answered'],
  ['a result of 2026-07-28', answer({ result: { resultType: 'complete' } }), 'answered'],
  ['a batch', `[{"method":"x","id":1,"result":1},${answer({ result: {} })}]`, 'answered'],
  ['an error', answer({ error: { code: 1, message: 'no' } }), 'failed'],
  ['a result that is no object', answer({ result: null }), 'failed'],
  ['a tool error', answer({ result: { isError: true } }), 'failed'],
  ['a request for input', answer({ result: { resultType: 'input_required' } }), 'waiting'],
  ['a task of 2025-11-25', answer({ result: { task: { taskId: 't' } } }), 'task'],
  ['a task of SEP-2663', answer({ result: { resultType: 'task', taskId: 't' } }), 'task'],
  ['a result with another member task', answer({ result: { task: 't' } }), 'answered'],
  ['an answer to another request', answer({ result: {} }, 2), undefined],
  ['an answer to the text of its id', answer({ result: {} }, '1'), undefined],
  ['an answer without an id', '{"result":{}}', undefined],
  ['a request of the server', answer({ method: 'ping', result: {} }), undefined],
  ['a result with an error of null', answer({ result: {}, error: null }), 'answered'],
  ['a result and an error', answer({ result: {}, error: {} }), undefined],
  ['an error and a result of null', answer({ result: null, error: {} }), 'failed'],
  ['two answers', `[${answer({ result: {} })},${answer({ error: {} })}]`, undefined],
  ['two equal members', '{"id":1,"result":{"isError":false,"isError":true}}', undefined],
  ['two equal members of an error', '{"id":1,"error":{"code":1,"code":2}}', undefined],
  ['another value', '7', undefined],
  ['an empty batch', '[]', undefined],
  ['what is not JSON', '{', undefined],
])('%s', (_, text, outcome) => {
  expect(answerOutcome(text, 1, call)).toBe(outcome);
});

test('an id that JavaScript cannot represent matches any answer, and a notification has none', () => {
  expect(answerOutcome(answer({ result: {} }), {}, call)).toBe('answered');
  expect(answerOutcome(answer({ result: {} }, null), null, call)).toBeUndefined();
  expect(answerOutcome(answer({ result: {} }, 'a'), 'a', call)).toBe('answered');
});

test.each<[string, object, string]>([
  ['a task in progress', { status: 'working' }, 'task'],
  ['a completed task without its result', { status: 'completed' }, 'task'],
  ['a failed task with a result', { status: 'failed', result: {} }, 'task'],
  ['a completed task', { status: 'completed', result: { content: [] } }, 'answered'],
  ['a completed task whose result is an error', { status: 'completed', result: { isError: true } }, 'failed'],
])('%s of tasks/get has the outcome of the call that created it', (_, task, outcome) => {
  expect(answerOutcome(answer({ result: { taskId: 't', ...task } }), 1, mcpMethod('tasks/get'))).toBe(outcome);
});

test('tasks/result has the outcome of the call that created the task', () => {
  expect(answerOutcome(answer({ result: { content: [] } }), 1, mcpMethod('tasks/result'))).toBe('answered');
});

test.each<[string, boolean]>([
  [answer({ result: {} }), true],
  [answer({ error: {} }), true],
  ['{"jsonrpc":"2.0","method":"notifications/progress","params":{}}', false],
])('whether %s may be an answer: %s', (text, may) => {
  expect(mayBeAnswer(text)).toBe(may);
  expect(mayBeAnswer(Buffer.from(text))).toBe(may);
});

test.each<[answer: object, settled: readonly unknown[]]>([
  [{ result: {} }, ['answered', expect.any(String)]],
  [{ error: {} }, ['returned', 'the upstream answered with an error']],
  [{ result: { resultType: 'input_required' } }, ['waiting', expect.any(String)]],
  [{ result: { task: {} } }, ['task', expect.any(String)]],
  [{ result: {}, error: {} }, []],
])('%j settles its call with %j, and is not changed', (answer, expected) => {
  const settled: unknown[] = [];
  const counted = { settle: (...told: unknown[]) => settled.push(...told) } as unknown as CountedCall;
  const action = { attempt: { kind: 'mcp', method: call }, messageId: 1 } as unknown as Action;
  expect(outcomeReading(action, counted).rewrite(JSON.stringify({ id: 1, ...answer }))).toBeUndefined();
  expect(settled).toEqual(expected);
});

test.each<[what: string, action: object, outcome: string]>([
  ['a task that has ended with an error', { attempt: { kind: 'mcp', method: mcpMethod('tasks/get') } }, 'returned'],
  ['an answer to no message', { attempt: { kind: 'http' } }, 'answered'],
])('%s settles the call of its action', (_what, action, outcome) => {
  const settled: unknown[] = [];
  const counted = { settle: (...told: unknown[]) => settled.push(...told) } as unknown as CountedCall;
  const reading = outcomeReading({ ...action, messageId: 1 } as unknown as Action, counted);
  reading.rewrite(answer({ result: { status: 'completed', result: { isError: true } } }));
  expect(settled[0]).toBe(outcome);
});
