import { expect, test } from 'vitest';
import { Denial } from '../../../src/model/denial.ts';
import { refusals } from '../../../src/model/reasons.ts';
import { toolError } from '../../../src/pipeline/respond/refuse.ts';

test.each([
  [undefined, undefined, 'Too many requests. (decision d)'],
  [undefined, 30, 'Too many requests. Try again in 30 seconds. (decision d)'],
  ['At most 20 a day.', 30, 'Too many requests: At most 20 a day. Try again in 30 seconds. (decision d)'],
  ['Ask "ops"', undefined, 'Too many requests: Ask "ops" (decision d)'],
])('a tool error says why in one line, and how long to wait: %j, %j', (because, retryAfter, text) => {
  const denial = new Denial('rate.exceeded', 'the detail', { because, rule: 'tools.pay' });
  const refusal = refusals['rate.exceeded'];
  const body = toolError({ refusal, denial, scope: [], decision: 'd', messageId: 'x', retryAfter }, 'legacy');
  expect(JSON.parse(body.text)).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: { content: [{ type: 'text', text }], isError: true },
  });
});
