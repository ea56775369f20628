import { expect, test } from 'vitest';
import { subscriptionEnd } from '../../src/mcp/subscription-end.ts';
import type { Action } from '../../src/model/grant.ts';

const listen = { era: 'modern', attempt: { kind: 'mcp', method: 'subscriptions/listen' }, messageId: 'x' };

test('a subscription of MCP 2026-07-28 ends with the result of its request', () => {
  const event = subscriptionEnd(listen as Action) ?? '';
  expect(event).toMatch(/^event: message\ndata: .*\n\n$/);
  expect(JSON.parse(event.slice('event: message\ndata: '.length))).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'x' } },
  });
});

test.each([
  ['the stream of another request', { ...listen, attempt: { kind: 'mcp', method: 'tools/call' } }],
  ['a legacy stream', { ...listen, era: 'legacy' }],
  ['a stream over HTTP', { ...listen, attempt: { kind: 'http', method: 'subscriptions/listen' } }],
])('%s ends as it is', (_, action) => expect(subscriptionEnd(action as unknown as Action)).toBeUndefined());
