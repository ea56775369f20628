/**
 * The demo's MCP server: the official SDK, tools, and no authorization. The gateway in front decides which caller may
 * call which tool. The server speaks the older revisions and 2026-07-28, and always answers on an event stream.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { localhostHostValidation, toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

import { listen, serveAlone, type Running } from './listen.ts';
import { addAccountTools } from './tools/accounts.ts';
import { addApiTools } from './tools/api.ts';

/** The address of the MCP server, and the API that its tools call. */
export interface McpServerOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: loopback. */
  readonly host?: string;
  /** The URL of the demo API for the tools: through the gateway, without a trailing slash. */
  readonly apiUrl: string;
}

/** Starts the MCP server; it serves at `/mcp`. */
export async function startMcpServer({ port, host = '127.0.0.1', apiUrl }: McpServerOptions): Promise<Running> {
  const mcp = createMcpHandler(() => newServer(apiUrl), { responseMode: 'sse' });
  const serveMcp = toNodeHandler(mcp);
  // On a laptop, a web page could otherwise reach this open server by DNS rebinding. In Docker only the gateway can
  // reach it, under the name of its container.
  const hostIsAllowed = host === '127.0.0.1' ? localhostHostValidation() : () => true;

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (!hostIsAllowed(request, response)) return;
    switch (new URL(request.url ?? '/', 'http://mcp-server').pathname) {
      case '/mcp':
        // The SDK's type forbids the `undefined` that Node's allows; both mean absent.
        void serveMcp(request as NodeIncomingMessageLike, response);
        return;
      case '/healthz':
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
        return;
      default:
        response.writeHead(404).end();
    }
  });

  const running = await listen(server, port, host);
  return {
    url: running.url,
    async close() {
      await mcp.close();
      await running.close();
    },
  };
}

/** The SDK requests a new server for every request: the tools have no state. */
function newServer(apiUrl: string): McpServer {
  const server = new McpServer({ name: 'demo-tools', version: '1.0.0' });
  addAccountTools(server);
  addApiTools(server, apiUrl);
  return server;
}

if (import.meta.main) {
  const apiUrl = process.env.DEMO_API_URL ?? 'http://127.0.0.1:8080';
  await serveAlone('MCP server', 3001, (port, host) => startMcpServer({ port, host, apiUrl }));
}
