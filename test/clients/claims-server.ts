import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import { listen, type Running } from '../../demo/listen.ts';

/** The form of an answer to one request. */
export type AnswerForm = 'json' | 'sse';

const claim = z.object({ claim: z.int(), isRefused: z.boolean().default(false) });
const payment = z.object({ amount: z.number(), isRefused: z.boolean().default(false) });
const confirmation = z.object({ isSure: z.boolean() });

/** An MCP server on SDK v2, of both eras, whose tools approve claims and pay. Only the stateless era has the form. */
export async function startClaimsServer(form: AnswerForm): Promise<Running> {
  const serve = toNodeHandler(createMcpHandler(createClaims, { responseMode: form }));
  return listen(
    createServer((request, response) => void serve(request as NodeIncomingMessageLike, response)),
    0,
  );
}

function createClaims(): McpServer {
  const server = new McpServer({ name: 'claims', version: '1.0.0' });
  server.registerTool('approve', { inputSchema: claim }, ({ isRefused }) => answer(isRefused));
  server.registerTool('confirm', { inputSchema: claim }, (_claim, { mcpReq }) => {
    if (acceptedContent(mcpReq.inputResponses, 'sure', confirmation)?.isSure === true) return answer(false);
    const sure = inputRequired.elicit({ message: 'Are you sure?', requestedSchema: confirmation });
    return inputRequired({ inputRequests: { sure }, requestState: randomUUID() });
  });
  server.registerTool('disburse', { inputSchema: claim }, () => answer(false));
  server.registerTool('pay', { inputSchema: payment }, ({ isRefused }) => answer(isRefused));
  return server;
}

/** The same on SDK v1, with sessions. Its tool `review` creates tasks. */
export async function startClaimsServerV1(form: AnswerForm): Promise<Running> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const tasks = new InMemoryTaskStore();

  async function open(): Promise<StreamableHTTPServerTransport> {
    const server = new McpServerV1(
      { name: 'claims', version: '1.0.0' },
      { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore: tasks },
    );
    server.registerTool('approve', { inputSchema: claim }, ({ isRefused }) => answer(isRefused));
    server.registerTool('disburse', { inputSchema: claim }, () => answer(false));
    server.registerTool('pay', { inputSchema: payment }, ({ isRefused }) => answer(isRefused));
    server.experimental.tasks.registerToolTask(
      'review',
      { inputSchema: claim.shape, execution: { taskSupport: 'required' } },
      {
        async createTask({ isRefused }, { taskStore }) {
          const task = await taskStore.createTask({ ttl: 60_000 });
          await taskStore.storeTaskResult(task.taskId, 'completed', answer(isRefused));
          return { task };
        },
        getTask: async (_claim, { taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async (_claim, { taskId, taskStore }) =>
          (await taskStore.getTaskResult(taskId)) as ReturnType<typeof answer>,
      },
    );
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: form === 'json',
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await server.connect(transport);
    return transport;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await open() : transports.get(String(id));
    if (transport === undefined) return void response.writeHead(404).end();
    return transport.handleRequest(request, response);
  }

  const running = await listen(
    createServer((request, response) => void serve(request, response)),
    0,
  );
  return {
    ...running,
    async close() {
      tasks.cleanup();
      await running.close();
    },
  };
}

function answer(isRefused: boolean): { content: { type: 'text'; text: string }[]; isError: boolean } {
  return { content: [{ type: 'text', text: isRefused ? 'refused' : 'done' }], isError: isRefused };
}
