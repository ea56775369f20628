/** The front door behind a public route of the gateway: the same origin, a path of its own. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgent } from '../clients/agent.ts';
import { legacyClients, sdkV2Auto } from '../clients/official-clients.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';

let world: FrontDoorWorld;
beforeAll(async () => {
  world = await startFrontDoorWorld({ below: '/signin' });
  world.provider.person = { sub: '248289761001' };
});
afterAll(() => world.close());

test.each([...legacyClients, sdkV2Auto])('$name signs its user in', async (client) => {
  const agent = createAgent(client, world.mcpUrl);
  expect(await agent.connect()).toBe(false);
  await agent.authorize();
  expect(await agent.connect()).toBe(true);
  await agent.close();
});

test('the gateway answers the well-known paths at the origin, and the front door those below it', async () => {
  const { origin } = world.mcpUrl;
  const read = async (url: string): Promise<unknown> => {
    const response = await fetch(url);
    expect([url, response.status]).toEqual([url, 200]);
    return response.json();
  };
  const documents = await Promise.all(
    [
      `${origin}/.well-known/oauth-authorization-server/signin`,
      `${origin}/.well-known/openid-configuration/signin`,
      `${origin}/signin/.well-known/openid-configuration`,
      `${origin}/signin/.well-known/oauth-authorization-server`,
    ].map(read),
  );
  for (const document of documents) expect(document).toMatchObject({ issuer: `${origin}/signin` });
  expect((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status).toBe(404);
  expect((await fetch(`${origin}/signin/nothing`)).status).toBe(404);
});
