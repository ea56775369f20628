/** What only the revisions with sessions have. test/attacks/foreign-handles.test.ts has other callers. */
import { describe, expect, test } from 'vitest';
import { createRecorder } from '../../demo/walk/recorder.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';
import { signedInAgent } from './agent.ts';
import { legacyClients } from './official-clients.ts';
import { type ResumableServer, startResumableServer } from './resumable-server.ts';
import { type StatefulServer, startStatefulServer } from './stateful-server.ts';

describe('a session', () => {
  let server: StatefulServer;
  const { world, keep } = startDemoBeforeAll({ tools: async () => (server = await startStatefulServer()) });

  test.each(legacyClients)('is kept for $name until it ends it', async (client) => {
    const { oauth } = keep(await signedInAgent(client, world().mcpUrl));
    const connection = keep(client.open(world().mcpUrl, oauth, fetch));
    await connection.connect();
    const session = connection.session() ?? '';
    expect(session, 'the client sees it bound').not.toBe('');
    expect(server.sessions.has(session)).toBe(false);
    expect((await connection.listTools()).tools.map(({ name }) => name)).toEqual(['list_accounts', 'transfer_funds']);
    await connection.terminate();
    const again = createRecorder();
    const late = keep(client.open(world().mcpUrl, oauth, again.fetch, session));
    const call = { name: 'list_accounts', arguments: {} };
    await expect(late.connect().then(() => late.callTool(call))).rejects.toThrow('POSTing');
    expect(again.take().map(({ status }) => status)).toContain(404);
  });
});

describe('a stream that broke off goes on where it ended', () => {
  let server: ResumableServer;
  const { world, keep } = startDemoBeforeAll({ tools: async () => (server = await startResumableServer()) });

  test.each(legacyClients)('for $name, which shows the id of the last event', async (client) => {
    const { oauth } = keep(await signedInAgent(client, world().mcpUrl));
    const shown: string[] = [];
    const connection = keep(
      client.open(world().mcpUrl, oauth, (url, init) => {
        const after = new Headers(init?.headers).get('last-event-id');
        if (after !== null) shown.push(after);
        return fetch(url, init);
      }),
    );
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
});
