/**
 * What only the revisions with sessions have: a session, which is its owner's.
 *
 * @module
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createRecorder } from '../../demo/walk/recorder.ts';
import { createAgent, type Agent } from './agent.ts';
import { legacyClients, type Connection, type OfficialClient } from './official-clients.ts';
import { startStatefulServer, type StatefulServer } from './stateful-server.ts';
import { type DemoWorld, startDemoWorld } from '../worlds/demo.ts';

let server: StatefulServer;
let world: DemoWorld;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await startStatefulServer();
  world = await startDemoWorld({ mcpServer: server.url });
});
afterAll(async () => {
  await Promise.all(open.map((each) => each.close()));
  await world.close();
  await server.close();
});

const listAccounts = { name: 'list_accounts', arguments: {} };

/** An agent whose person is signed in, but that has not connected since. */
async function authorized(client: OfficialClient, user: string): Promise<Agent> {
  const agent = createAgent(client, world.mcpUrl, { user });
  open.push(agent);
  await agent.connect();
  await agent.authorize();
  return agent;
}

async function connectedAs(agent: Agent, client: OfficialClient): Promise<Connection> {
  const connection = client.open(world.mcpUrl, agent.oauth, agent.recorder.fetch);
  open.push(connection);
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
    const late = client.open(world.mcpUrl, alice.oauth, again.fetch, session);
    open.push(late);
    await expect(late.connect().then(() => late.callTool(listAccounts))).rejects.toThrow('POSTing');
    expect(again.take().map(({ status }) => status)).toContain(404);
  });

  test('answers 404 to another caller, without a request to the server', async () => {
    const alice = await authorized(client, 'alice');
    const connection = await connectedAs(alice, client);
    const bob = await authorized(client, 'bob');
    bob.recorder.take();
    const stolen = client.open(world.mcpUrl, bob.oauth, bob.recorder.fetch, connection.session());
    open.push(stolen);
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
