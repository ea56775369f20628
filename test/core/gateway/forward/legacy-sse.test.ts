import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { beforeAll, expect, test } from 'vitest';
import { startMcpWorld } from '../../../worlds/mcp.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

const transports = new Map<string, SSEServerTransport>();

const world = startBeforeAll(() =>
  startMcpWorld({ policy: 'tools:\n  ok: {}\n', route: 'below: pass\n    query: pass' }),
);
beforeAll(async () => {
  world.handle = (request, response, body) => {
    if (request.method === 'POST') {
      const id = new URL(request.url ?? '', 'http://x').searchParams.get('sessionId') ?? '';
      void transports.get(id)?.handlePostMessage(request, response, JSON.parse(body));
      return;
    }
    const transport = new SSEServerTransport('/mcp/messages', response);
    transports.set(transport.sessionId, transport);
    const server = new McpServer({ name: 'legacy', version: '1.0.0' });
    for (const name of ['ok', 'hidden']) {
      server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
    }
    void server.connect(transport);
  };
});

test('serves a server of HTTP+SSE (2024-11-05) with `below: pass` and `query: pass`, its list filtered', async () => {
  const client = new Client({ name: 'legacy', version: '1.0.0' });
  const headers = { authorization: `Bearer ${await world.token()}` };
  await client.connect(new SSEClientTransport(new URL(`${world.gateway.url}/mcp`), { requestInit: { headers } }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ok']);
  expect(await client.callTool({ name: 'ok' })).toMatchObject({ content: [{ text: 'ok' }] });
  await expect(client.callTool({ name: 'hidden' })).rejects.toThrow('403');
  await client.close();
});
