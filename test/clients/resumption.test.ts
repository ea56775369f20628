/**
 * A stream that broke off goes on where it ended: clients show the id of the last event, which the gateway binds.
 *
 * @module
 */

import { expect, test } from 'vitest';

import { createAgent } from './agent.ts';
import { legacyClients } from './official-clients.ts';
import { startResumableServer, type ResumableServer } from './resumable-server.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

let server: ResumableServer;
const { world, keep } = startDemoBeforeAll({ tools: async () => (server = await startResumableServer()) });

test.each(legacyClients)('$name gets the answer of a call whose stream was closed too early', async (client) => {
  const agent = keep(createAgent(client, world().mcpUrl));
  await agent.connect();
  await agent.authorize();
  const shown: string[] = [];
  const connection = client.open(world().mcpUrl, agent.oauth, (url, init) => {
    const after = new Headers(init?.headers).get('last-event-id');
    if (after !== null) shown.push(after);
    return fetch(url, init);
  });
  keep(connection);
  await connection.connect();
  const before = server.resumedAfter.length;
  expect(await connection.callTool({ name: 'list_accounts', arguments: {} })).toMatchObject({
    content: [{ type: 'text', text: 'said after the stream was closed' }],
  });
  expect(shown.length).toBeGreaterThan(0);
  for (const id of shown) expect(id, 'the client sees it bound').toMatch(/^[\w-]+\.[\w-]{22}$/);
  expect(server.resumedAfter.length).toBeGreaterThan(before);
  for (const id of server.resumedAfter) expect(id, 'the server sees its own').toMatch(/^event-\d+$/);
});
