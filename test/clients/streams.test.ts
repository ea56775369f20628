/**
 * A stream that outlives its token would be a way around the end of it: the gateway ends it with the token.
 *
 * @module
 */

import { test } from 'vitest';

import { createAgent } from './agent.ts';
import { legacyClients } from './official-clients.ts';
import { preRegistered } from './pre-registered.ts';
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
        return streams.slice(0, 3);
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
