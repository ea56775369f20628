import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport, type EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

import { listen, type Running } from '../../demo/listen.ts';

/** An MCP server on SDK v1 whose one tool closes the stream of its call before it answers. */
export interface ResumableServer extends Running {
  /** The `Last-Event-ID` of each request that had one, as the server saw it. */
  readonly resumedAfter: readonly string[];
}

/** Starts it at `/mcp`. One store numbers the events of all sessions. */
export async function startResumableServer(): Promise<ResumableServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const resumedAfter: string[] = [];
  const eventStore = createEventStore();

  async function open(): Promise<StreamableHTTPServerTransport> {
    const mcp = new McpServer({ name: 'resumable', version: '1.0.0' });
    mcp.registerTool('list_accounts', {}, ({ closeSSEStream }) => {
      closeSSEStream?.();
      return { content: [{ type: 'text', text: 'said after the stream was closed' }] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore,
      retryInterval: 20,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await mcp.connect(transport);
    return transport;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const after = request.headers['last-event-id'];
    if (after !== undefined) resumedAfter.push(String(after));
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await open() : sessions.get(String(id));
    if (transport === undefined) return void response.writeHead(404).end();
    return transport.handleRequest(request, response);
  }

  const running = await listen(
    createServer((request, response) => void serve(request, response)),
    0,
  );
  return { ...running, resumedAfter };
}

function createEventStore(): EventStore {
  const events: { readonly streamId: string; readonly message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: (streamId, message) => Promise.resolve(`event-${events.push({ streamId, message }) - 1}`),
    async replayEventsAfter(lastEventId, { send }) {
      const last = Number(lastEventId.replace(/^event-/, ''));
      const streamId = events[last]?.streamId ?? '';
      for (const [i, event] of events.entries()) {
        // A priming event has an id but no message.
        const isMessage = Object.keys(event.message).length > 0;
        if (i > last && event.streamId === streamId && isMessage) await send(`event-${i}`, event.message);
      }
      return streamId;
    },
  };
}
