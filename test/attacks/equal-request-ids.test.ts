import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startMcpWorld } from '../worlds/mcp.ts';

const policy = `
tools:
  approve: {}
  disburse: { after: { tool: approve, within: 1h } }
  pay: { quota: [{ sum: /amount, at_most: 5000, per: 1h }] }
  "read_*": {}
`;

/** The official server with one session, whose tools answer when the test says so. */
async function start(enableJsonResponse: boolean) {
  const inProgress = new Map<string, () => void>();
  const mcp = new McpServer({ name: 'stateful', version: '1.0.0' });
  const held = (name: string, isError: boolean, inputSchema = {}): void =>
    void mcp.registerTool(name, { inputSchema }, async () => {
      await new Promise<void>((resolve) => inProgress.set(name, resolve));
      return { content: [], isError };
    });
  held('approve', true);
  held('pay', false, { amount: z.number() });
  held('read_well', false);
  held('read_badly', true);
  mcp.registerTool('disburse', {}, () => ({ content: [] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse });
  await mcp.connect(transport);
  const world = await startMcpWorld({
    policy,
    handle: (request, response, body) =>
      void transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body)),
  });
  onTestFinished(async () => {
    await mcp.close();
    await world.close();
  });
  const headers: Record<string, string> = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  };
  const clientInfo = { name: 'mallory', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const opened = await world.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, { headers });
  await opened.text();
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? '';
  const message = { jsonrpc: '2.0', method: 'notifications/initialized' };
  expect((await world.send(message, { headers })).status).toBe(202);

  return {
    call: async (id: number | string, name: string, args = {}, signal?: AbortSignal): Promise<number> => {
      const request = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
      const response = await world.send(request, { headers, ...(signal !== undefined && { signal }) });
      await response.text();
      return response.status;
    },
    begun: async (name: string): Promise<void> => {
      await expect.poll(() => inProgress.has(name)).toBe(true);
    },
    finish: (name: string): void => {
      inProgress.get(name)?.();
      inProgress.delete(name);
    },
  };
}

describe.each([true, false])('in a session whose server answers in JSON: %s', (isJson) => {
  test('the answer to another request does not approve', async () => {
    const { call, begun, finish } = await start(isJson);
    const reading = call(1, 'read_well');
    await begun('read_well');
    expect(await call(1, 'approve')).toBe(400);
    finish('read_well');
    expect(await reading).toBe(200);
    expect(await call(2, 'disburse')).toBe(403);
    // An id is free again once the answer came.
    const approving = call(1, 'approve');
    await begun('approve');
    finish('approve');
    expect(await approving).toBe(200);
    expect(await call(2, 'disburse')).toBe(403);
  });

  test('the answer to another request gives nothing back', async () => {
    const { call, begun, finish } = await start(isJson);
    const reading = call(1, 'read_badly');
    await begun('read_badly');
    expect(await call(1, 'pay', { amount: 5000 })).toBe(400);
    const paying = call(2, 'pay', { amount: 5000 });
    await begun('pay');
    expect(await call(2, 'read_badly')).toBe(400);
    finish('read_badly');
    finish('pay');
    expect(await Promise.all([reading, paying])).toEqual([200, 200]);
    expect(await call(3, 'pay', { amount: 1 })).toBe(429);
  });

  test('a client that leaves does not free the id', async () => {
    const { call, begun, finish } = await start(isJson);
    const leaves = new AbortController();
    const reading = call(1, 'read_badly', {}, leaves.signal);
    await begun('read_badly');
    leaves.abort();
    await expect(reading).rejects.toThrow('abort');
    expect(await call(1, 'pay', { amount: 5000 })).toBe(400);
    finish('read_badly');
    const paying = call(2, 'pay', { amount: 5000 });
    await begun('pay');
    finish('pay');
    expect(await paying).toBe(200);
  });
});
