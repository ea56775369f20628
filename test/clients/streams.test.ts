/**
 * A stream that outlives its token would be a way around the end of it: the gateway ends it with the token, that of a
 * session and `subscriptions/listen` of the stateless revision.
 *
 * @module
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';

import { createRecorder, type Seen } from '../../demo/walk/recorder.ts';
import { createAgent, preRegistered, signedInAgent } from './agent.ts';
import { legacyClients, sdkV2Auto } from './official-clients.ts';
import { startStatefulServer, type StatefulServer } from './stateful-server.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

let server: StatefulServer;
const { world, keep } = startDemoBeforeAll({
  tools: async () => (server = await startStatefulServer()),
  authorizationServer: { accessTokenTtl: 3 },
});

// The client's own clocks decide when it listens again: on a machine that is busy with something else it may come late.
test.concurrent.for(legacyClients)(
  '$name renews it and listens again in the same session',
  { retry: 2 },
  async (client, { expect }) => {
    const alice = keep(createAgent(client, world().mcpUrl, { oauth: preRegistered(world().issuer) }));
    await alice.connect();
    await alice.authorize();
    alice.recorder.take();
    const connection = keep(client.open(world().mcpUrl, alice.oauth, alice.recorder.fetch));
    await connection.connect();
    let heard = 0;
    connection.onToolsChanged(() => (heard += 1));
    const session = connection.session();
    await expect.poll(() => (server.announce(), heard)).toBeGreaterThan(0);
    const streams: (readonly [string, number])[] = [];
    await expect
      .poll(() => {
        const seen = alice.recorder.take().filter(({ method, url }) => method === 'GET' && url.pathname === '/mcp');
        streams.push(...seen.map(({ method, status }) => [method, status] as const));
        // A slow client may find its first token expired before it listens.
        const first = streams.findIndex(([, status]) => status === 200);
        return streams.slice(first, first + 3);
      })
      .toEqual([
        ['GET', 200],
        ['GET', 401],
        ['GET', 200],
      ]);
    const before = heard;
    await expect.poll(() => (server.announce(), heard)).toBeGreaterThan(before);
    expect(connection.session()).toBe(session);
  },
);

const { world: stateless } = startDemoBeforeAll({ authorizationServer: { accessTokenTtl: 3 } });
const wish = { toolsListChanged: true };

function listens({ sent }: Seen): boolean {
  return sent?.includes('"subscriptions/listen"') === true;
}

test('a client receives the end of its subscription, and can listen again with a new token', async () => {
  const oauth = preRegistered(stateless().issuer);
  await (await signedInAgent(sdkV2Auto, stateless().mcpUrl, { oauth })).close();
  const recorder = createRecorder();
  const client = new Client({ name: 'listener', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(
    new StreamableHTTPClientTransport(stateless().mcpUrl, { authProvider: oauth, fetch: recorder.fetch }),
  );

  const subscription = await client.listen(wish);
  expect(subscription.honoredFilter).toEqual(wish);
  expect(await subscription.closed).toBe('graceful');
  const again = await client.listen(wish);
  const statuses = recorder
    .take()
    .filter(listens)
    .map(({ status }) => status);
  expect(statuses.slice(statuses.indexOf(200))).toEqual([200, 401, 200]);
  await again.close();
  await client.close();
});
