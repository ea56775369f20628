import { expect, test } from 'vitest';
import type { CallOutcome, CountedCall } from '../../../src/model/history.ts';
import type { Action } from '../../../src/model/grant.ts';
import { outcomeOfStatus, outcomeReading } from '../../../src/pipeline/forward/answer-filter.ts';
import { message } from '../../policy/caller.ts';

// test/mcp/answer-outcome.test.ts has the table of answers.
test.each<[answer: object, settled: readonly unknown[]]>([
  [{ result: {} }, ['answered', expect.any(String)]],
  [{ error: {} }, ['returned', 'the upstream answered with an error']],
  [{ result: { resultType: 'input_required' } }, ['waiting', expect.any(String)]],
  [{ result: { task: {} } }, ['task', expect.any(String)]],
  [{ result: {}, error: {} }, []],
])('%j settles its call with %j, and is not changed', (answer, expected) => {
  const settled: unknown[] = [];
  const counted = { settle: (...told: unknown[]) => settled.push(...told) } as unknown as CountedCall;
  const action = { attempt: message('tools/call'), messageId: 1 } as Action;
  expect(outcomeReading(action, counted).rewrite(JSON.stringify({ id: 1, ...answer }))).toBeUndefined();
  expect(settled).toEqual(expected);
});

test.each<[CallOutcome | undefined, readonly number[]]>([
  ['returned', [400, 401, 403, 404, 409, 429, 500, 501, 503]],
  // A proxy got no answer in time or a broken one, or its client left: the upstream may have acted.
  [undefined, [200, 202, 303, 307, 499, 502, 504, 520, 524]],
  // Some frameworks look at these headers of the caller only when they write the answer.
  ['unclear', [406, 412, 416]],
])('the outcome %s is that of the statuses %j', (outcome, statuses) => {
  expect(statuses.map((status) => outcomeOfStatus(status))).toEqual(statuses.map(() => outcome));
});
