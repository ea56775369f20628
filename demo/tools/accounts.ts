import { setTimeout } from 'node:timers/promises';

import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';

const accounts = [
  { id: 'savings', currency: 'SEK', balance: 12_500 },
  { id: 'trading', currency: 'SEK', balance: 84_000 },
];

const prices = { ACME: 101.5, VOLV: 262.4, ERIC: 78.9 };

const readOnly = { readOnlyHint: true };
const betweenUpdatesMs = 200;

/** The tools for accounts and prices: reads, one high-privilege write, and one that no policy of the demo lists. */
export function addAccountTools(server: McpServer): void {
  server.registerTool('list_accounts', { description: 'Lists the accounts', annotations: readOnly }, () =>
    textResult(accounts.map(({ id, currency }) => ({ id, currency }))),
  );

  server.registerTool(
    'get_balance',
    {
      description: 'The balance of one account',
      inputSchema: z.object({ account: z.string() }),
      annotations: readOnly,
    },
    ({ account }) => {
      const found = accounts.find(({ id }) => id === account);
      return found ? textResult(found) : errorResult(`There is no account ${account}`);
    },
  );

  server.registerTool(
    'get_prices',
    {
      description:
        'Current prices; with `updates`, that number of progress notifications comes first on the event stream',
      inputSchema: z.object({ updates: z.int().min(0).max(50).default(0) }),
      annotations: readOnly,
    },
    async ({ updates }, context) => {
      await sendProgress(context, updates);
      return textResult(prices);
    },
  );

  server.registerTool(
    'transfer_funds',
    {
      description: 'Transfers funds between two accounts; needs the scope payments',
      inputSchema: z.object({ from: z.string(), to: z.string(), amount: z.number().positive() }),
      annotations: { destructiveHint: true },
    },
    ({ from, to, amount }) => textResult({ moved: amount, from, to }),
  );

  server.registerTool(
    'close_account',
    {
      description: 'Closes an account; no policy of the demo lists it, so no caller may call it',
      inputSchema: z.object({ account: z.string() }),
      annotations: { destructiveHint: true },
    },
    ({ account }) => textResult({ closed: account }),
  );
}

/** Sends progress only if the request has a progress token, MCP 2025-11-25 basic/utilities/progress. */
async function sendProgress(context: ServerContext, updates: number): Promise<void> {
  const { _meta: meta } = context.mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return;
  for (let progress = 1; progress <= updates; progress += 1) {
    await context.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress, total: updates },
    });
    await setTimeout(betweenUpdatesMs, undefined, { signal: context.mcpReq.signal });
  }
}

/** The result of a tool: one value as JSON text. */
export function textResult(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }] };
}

/** The failure of a tool, which a model may read and act on. */
export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
