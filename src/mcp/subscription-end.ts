import type { Action } from '../model/grant.ts';
import { mcpMethod } from '../model/mcp-methods.ts';

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

/**
 * The event that ends a subscription as its server would (MCP 2026-07-28, `SubscriptionsListenResult`), so that the client
 * knows that it is over and not interrupted; undefined for any other stream. Streams of legacy revisions have no such end:
 * there clients connect again.
 */
export function subscriptionEnd({ attempt, era, messageId }: Action): string | undefined {
  if (era !== 'modern' || attempt.kind !== 'mcp' || mcpMethod(attempt.method).target !== 'subscriptions')
    return undefined;
  const result = { resultType: 'complete', _meta: { [subscriptionId]: messageId } };
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: messageId, result })}\n\n`;
}
