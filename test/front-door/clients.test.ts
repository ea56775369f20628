/** Official MCP clients sign in through the front door, with an OpenID provider behind it that knows nothing of MCP. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createAgent } from '../clients/agent.ts';
import { officialClients } from '../clients/official-clients.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startFrontDoorWorld);
beforeAll(async () => {
  world.provider.person = {
    sub: '248289761001',
    claims: { roles: ['trader', 'user'], tid: 'acme', email: 'jane@acme.com' },
  };
});

describe.each(officialClients)('$name', (client) => {
  test('registers itself, signs its user in at the provider, and calls a tool', async () => {
    const agent = createAgent(client, world.mcpUrl);
    expect(await agent.connect()).toBe(false);
    await agent.authorize();
    expect(world.observed.filter((line) => line.startsWith('bug'))).toEqual([]);
    expect(await agent.connect()).toBe(true);
    expect(await agent.toolNames()).toContain('list_accounts');
    await agent.close();
  });
});
