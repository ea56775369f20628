import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { type SessionServer, startSessionServer } from '../support/mcp-servers.ts';

/** An MCP server with sessions whose tools can change. */
export interface StatefulServer extends SessionServer {
  /** Says to every session that the tools changed. */
  announce(): void;
}

/** Starts it at `/mcp`. */
export async function startStatefulServer(): Promise<StatefulServer> {
  const running = await startSessionServer(newServer, { enableJsonResponse: true });
  return {
    ...running,
    announce() {
      for (const mcp of running.sessions.values()) mcp.sendToolListChanged();
    },
  };
}

function newServer(): McpServer {
  const mcp = new McpServer({ name: 'stateful', version: '1.0.0' });
  for (const name of ['list_accounts', 'close_account']) mcp.registerTool(name, {}, () => answer(name));
  const inputSchema = { from: z.string(), to: z.string(), amount: z.number() };
  mcp.registerTool('transfer_funds', { inputSchema }, ({ from, to, amount }) =>
    answer(JSON.stringify({ moved: amount, from, to })),
  );
  return mcp;
}

function answer(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
