/**
 * A policy of tools alone makes what it does not list invisible, whichever way the server answers.
 *
 * @module
 */

import { createServer } from 'node:http';

import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { listen, type Running } from '../../demo/listen.ts';
import { addAccountTools } from '../../demo/tools/accounts.ts';
import { signedInAgent } from './agent.ts';
import { legacyClients, modernClients, officialClients } from './official-clients.ts';
import { startStatefulServer } from './stateful-server.ts';
import { type DemoWorld, startDemoWorld } from '../worlds/demo.ts';

/** The demo's tools on accounts, on SDK v2; only in the stateless revision it answers as told. */
async function startTools(responseMode: 'json' | 'sse'): Promise<Running> {
  const serve = toNodeHandler(createMcpHandler(newServer, { responseMode }));
  return listen(
    createServer((request, response) => void serve(request as NodeIncomingMessageLike, response)),
    0,
  );
}

function newServer(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  addAccountTools(server);
  return server;
}

const accountTools = ['list_accounts', 'get_balance', 'get_prices', 'transfer_funds'];

describe.each([
  { clients: officialClients, type: 'text/event-stream', start: () => startTools('sse'), visible: accountTools },
  { clients: modernClients, type: 'application/json', start: () => startTools('json'), visible: accountTools },
  {
    clients: legacyClients,
    type: 'application/json',
    start: startStatefulServer,
    visible: ['list_accounts', 'transfer_funds'],
  },
])('tools/list as $type', ({ clients, type, start, visible }) => {
  let tools: Running;
  let world: DemoWorld;
  beforeAll(async () => {
    tools = await start();
    world = await startDemoWorld({ mcpServer: tools.url });
  });
  afterAll(async () => {
    await world.close();
    await tools.close();
  });

  test.each(clients)('$name sees exactly what the policy lists', async (client) => {
    const agent = await signedInAgent(client, world.mcpUrl);
    expect(await agent.toolNames()).toEqual(visible);
    const seen = agent.recorder.take().find(({ sent }) => sent?.includes('"tools/list"'));
    expect(seen?.headers.get('content-type')).toContain(type);
    expect(await seen?.body).not.toContain('close_account');
    await agent.close();
  });
});
