/**
 * A policy of tools alone makes what it does not list invisible, whichever way the server answers.
 *
 * @module
 */

import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';

import { addAccountTools } from '../../demo/tools/accounts.ts';
import { mcpHandler, startHttp } from '../support/mcp-servers.ts';
import { signedInAgent } from './agent.ts';
import { legacyClients, modernClients, officialClients } from './official-clients.ts';
import { startStatefulServer } from './stateful-server.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

function newServer(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  addAccountTools(server);
  return server;
}

const accountTools = ['list_accounts', 'get_balance', 'get_prices', 'transfer_funds'];

describe.each([
  {
    clients: officialClients,
    type: 'text/event-stream',
    start: () => startHttp(mcpHandler(newServer, 'sse')),
    visible: accountTools,
  },
  {
    clients: modernClients,
    type: 'application/json',
    start: () => startHttp(mcpHandler(newServer, 'json')),
    visible: accountTools,
  },
  {
    clients: legacyClients,
    type: 'application/json',
    start: startStatefulServer,
    visible: ['list_accounts', 'transfer_funds'],
  },
])('tools/list as $type', ({ clients, type, start, visible }) => {
  const { world, keep } = startDemoBeforeAll({ tools: start });

  test.each(clients)('$name sees exactly what the policy lists', async (client) => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    expect(await agent.toolNames()).toEqual(visible);
    const seen = agent.recorder.take().find(({ sent }) => sent?.includes('"tools/list"'));
    expect(seen?.headers.get('content-type')).toContain(type);
    expect(await seen?.body).not.toContain('close_account');
  });
});
