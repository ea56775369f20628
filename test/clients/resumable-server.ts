import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

import { type SessionServer, startSessionServer } from '../support/mcp-servers.ts';

/** An MCP server on SDK v1 whose one tool closes the stream of its call before it answers. */
export interface ResumableServer extends SessionServer {
  /** The `Last-Event-ID` of each request that had one, as the server saw it. */
  readonly resumedAfter: readonly string[];
}

/** Starts it at `/mcp`. One store numbers the events of all sessions. */
export async function startResumableServer(): Promise<ResumableServer> {
  const resumedAfter: string[] = [];
  const options = { eventStore: createEventStore(), retryInterval: 20 };
  const running = await startSessionServer(newServer, options, ({ headers }) => {
    const after = headers['last-event-id'];
    if (after !== undefined) resumedAfter.push(String(after));
  });
  return { ...running, resumedAfter };
}

function newServer(): McpServer {
  const mcp = new McpServer({ name: 'resumable', version: '1.0.0' });
  mcp.registerTool('list_accounts', {}, ({ closeSSEStream }) => {
    closeSSEStream?.();
    return { content: [{ type: 'text', text: 'said after the stream was closed' }] };
  });
  return mcp;
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
