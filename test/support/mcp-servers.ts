import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import type { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { listen, type Running } from '../../demo/listen.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/** What answers as the MCP servers of SDK v2 that `build` makes, one for each request of the stateless revision. */
export function mcpHandler(build: () => McpServer, responseMode: 'json' | 'sse' | 'auto' = 'auto'): Handle {
  const handle = toNodeHandler(createMcpHandler(build, { responseMode }));
  // The SDK's type forbids the `undefined` that Node's allows; both mean absent.
  return (request, response) => handle(request as NodeIncomingMessageLike, response);
}

/** Starts an HTTP server on a free port of loopback. */
export function startHttp(handle: Handle): Promise<Running> {
  return listen(
    createServer((request, response) => void handle(request, response)),
    0,
  );
}

/** An MCP server with sessions, on SDK v1: as most of those in use, and as trusting. */
export interface SessionServer extends Running {
  /** Its own session ids, and the server of each. */
  readonly sessions: ReadonlyMap<string, McpServerV1>;
}

/** Starts one, which `build` makes for each session. `seen` gets each request first. */
export async function startSessionServer(
  build: () => McpServerV1,
  options: Partial<StreamableHTTPServerTransportOptions> = {},
  seen: (request: IncomingMessage) => void = () => {},
): Promise<SessionServer> {
  const sessions = new Map<string, McpServerV1>();
  const transports = new Map<string, StreamableHTTPServerTransport>();

  async function open(): Promise<StreamableHTTPServerTransport> {
    const mcp = build();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      ...options,
      onsessioninitialized(id) {
        transports.set(id, transport);
        sessions.set(id, mcp);
      },
      onsessionclosed(id) {
        transports.delete(id);
        sessions.delete(id);
      },
    });
    await mcp.connect(transport);
    return transport;
  }

  const running = await startHttp(async (request, response) => {
    seen(request);
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await open() : transports.get(String(id));
    if (transport === undefined) return response.writeHead(404).end();
    return transport.handleRequest(request, response);
  });
  return { ...running, sessions };
}
