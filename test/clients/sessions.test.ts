/**
 * What only the revisions with sessions have: a session, which is its owner's.
 *
 * @module
 */

import { describe, expect, test } from 'vitest';

import { createRecorder } from '../../demo/walk/recorder.ts';
import { createAgent, type Agent } from './agent.ts';
import { legacyClients, type Connection, type OfficialClient } from './official-clients.ts';
import { startStatefulServer, type StatefulServer } from './stateful-server.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

let server: StatefulServer;
const { world, keep } = startDemoBeforeAll({ tools: async () => (server = await startStatefulServer()) });

const listAccounts = { name: 'list_accounts', arguments: {} };

/** An agent whose person is signed in, but that has not connected since. */
async function authorized(client: OfficialClient, user: string): Promise<Agent> {
  const agent = keep(createAgent(client, world().mcpUrl, { user }));
  await agent.connect();
  await agent.authorize();
  return agent;
}

async function connectedAs(agent: Agent, client: OfficialClient): Promise<Connection> {
  const connection = keep(client.open(world().mcpUrl, agent.oauth, agent.recorder.fetch));
  await connection.connect();
  return connection;
}

describe.each(legacyClients)('$name', (client) => {
  test('keeps a session until its owner ends it', async () => {
    const alice = await authorized(client, 'alice');
    const connection = await connectedAs(alice, client);
    const session = connection.session() ?? '';
    expect(session, 'the client sees it bound').not.toBe('');
    expect(server.sessions.has(session)).toBe(false);
    expect((await connection.listTools()).tools.map(({ name }) => name)).toEqual(['list_accounts', 'transfer_funds']);
    await connection.terminate();
    const again = createRecorder();
    const late = keep(client.open(world().mcpUrl, alice.oauth, again.fetch, session));
    await expect(late.connect().then(() => late.callTool(listAccounts))).rejects.toThrow('POSTing');
    expect(again.take().map(({ status }) => status)).toContain(404);
  });

  test('answers 404 to another caller, without a request to the server', async () => {
    const alice = await authorized(client, 'alice');
    const connection = await connectedAs(alice, client);
    const bob = await authorized(client, 'bob');
    bob.recorder.take();
    const stolen = keep(client.open(world().mcpUrl, bob.oauth, bob.recorder.fetch, connection.session()));
    await stolen.connect().catch(() => undefined);
    await expect(stolen.callTool(listAccounts)).rejects.toThrow('session.unknown');
    await expect(stolen.terminate()).rejects.toThrow('Failed to terminate session');
    expect(bob.recorder.take().map(({ method, status }) => [method, status])).toEqual([
      ['POST', 404],
      ['DELETE', 404],
    ]);
    expect([...server.callers]).toEqual(['alice']);
    expect((await connection.listTools()).tools.length, 'and lives').toBe(2);
  });
});
