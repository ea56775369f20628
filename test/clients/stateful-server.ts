import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { listen, type Running } from '../../demo/listen.ts';

/** An MCP server with sessions and streams, on SDK v1: as most of those in use, and as trusting. */
export interface StatefulServer extends Running {
  /** Its own session ids. */
  readonly sessions: ReadonlyMap<string, unknown>;
  /** The subjects of all requests that reached it. */
  readonly callers: ReadonlySet<string>;
  /** Says to every session that the tools changed. */
  announce(): void;
}

/** Starts it at `/mcp`. */
export async function startStatefulServer(): Promise<StatefulServer> {
  const sessions = new Map<string, { readonly transport: StreamableHTTPServerTransport; readonly mcp: McpServer }>();
  const callers = new Set<string>();

  async function open(): Promise<StreamableHTTPServerTransport> {
    const mcp = new McpServer({ name: 'stateful', version: '1.0.0' });
    for (const name of ['list_accounts', 'close_account']) mcp.registerTool(name, {}, () => answer(name));
    const inputSchema = { from: z.string(), to: z.string(), amount: z.number() };
    mcp.registerTool('transfer_funds', { inputSchema }, ({ from, to, amount }) =>
      answer(JSON.stringify({ moved: amount, from, to })),
    );
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, { transport, mcp }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await mcp.connect(transport);
    return transport;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    callers.add(String(request.headers['x-auth-subject']));
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return (await open()).handleRequest(request, response);
    const session = sessions.get(String(id));
    if (session === undefined) return void response.writeHead(404).end();
    return session.transport.handleRequest(request, response);
  }

  const running = await listen(
    createServer((request, response) => void serve(request, response)),
    0,
  );
  return {
    ...running,
    sessions,
    callers,
    announce() {
      for (const { mcp } of sessions.values()) mcp.sendToolListChanged();
    },
  };
}

function answer(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
