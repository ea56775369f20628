import { randomUUID } from 'node:crypto';

import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { Running } from '../../demo/listen.ts';
import { mcpHandler, startHttp, startSessionServer } from '../support/mcp-servers.ts';

const claim = z.object({ claim: z.int(), isRefused: z.boolean().default(false) });
const payment = z.object({ amount: z.number(), isRefused: z.boolean().default(false) });
const confirmation = z.object({ isSure: z.boolean() });

/** An MCP server on SDK v2, of both eras, whose tools approve claims and pay. Only the stateless era has the form. */
export function startClaimsServer(form: 'json' | 'sse'): Promise<Running> {
  return startHttp(mcpHandler(createClaims, form));
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

/** The same on SDK v1, with sessions and JSON. Its tool `review` creates tasks. */
export async function startClaimsServerV1(): Promise<Running> {
  const tasks = new InMemoryTaskStore();

  function createClaimsV1(): McpServerV1 {
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
    return server;
  }

  const running = await startSessionServer(createClaimsV1, { enableJsonResponse: true });
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
