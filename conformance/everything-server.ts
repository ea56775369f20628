/**
 * An MCP server on the official SDK with everything that the conformance suite tests, with legacy sessions and with the
 * stateless 2026-07-28, without authorization. Through the gateway it must get the same score.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  type NodeIncomingMessageLike,
} from '@modelcontextprotocol/node';
import { createMcpHandler, createRequestStateCodec, isLegacyRequest, McpServer } from '@modelcontextprotocol/server';
import { listen, type Running } from '../demo/listen.ts';
import { addContentTools, addStreamTools } from './fixture/tools.ts';
import { addAskingTools, addInputRequiredTools } from './fixture/input-tools.ts';
import { addPrompts, addResources } from './fixture/prompts.ts';
import { createSessions } from './fixture/sessions.ts';
import { addTasks, tasksExtension, type Tasks } from './fixture/tasks.ts';

/** Starts the server on loopback, at the path `/mcp`. */
export async function startEverythingServer(): Promise<Running> {
  const state = createRequestStateCodec({ key: randomBytes(32) });
  const tasks: Tasks = new Map();
  const hostIsAllowed = localhostHostValidation();
  const originIsAllowed = localhostOriginValidation();
  const modern = createMcpHandler(newServer, { legacy: 'reject' });
  const legacy = createSessions(newServer);

  function newServer(): McpServer {
    const server = new McpServer(
      { name: 'everything', version: '1.0.0' },
      {
        capabilities: { logging: {}, resources: { subscribe: true }, extensions: { [tasksExtension]: {} } },
        requestState: { verify: (sealed, context) => state.verify(sealed, context) },
      },
    );
    addContentTools(server);
    addStreamTools(server, modern.notify);
    addAskingTools(server);
    addInputRequiredTools(server, (payload) => state.mint(payload));
    addPrompts(server);
    addResources(server);
    addTasks(server, tasks);
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', () => ({}));
    return server;
  }

  const serveMcp = toNodeHandler({
    fetch: async (request) => ((await isLegacyRequest(request)) ? legacy.serve(request) : modern.fetch(request)),
  });
  const server = createServer((request, response) => {
    if (!hostIsAllowed(request, response) || !originIsAllowed(request, response)) return;
    // Node's type allows `undefined` for an absent member, the SDK's does not.
    void serveMcp(request as NodeIncomingMessageLike, response);
  });
  const running = await listen(server, 0);
  return {
    url: `${running.url}/mcp`,
    async close() {
      await modern.close();
      await legacy.close();
      await running.close();
    },
  };
}
