/**
 * Client ID Metadata Documents: a client that publishes itself does not register, where the authorization server allows it.
 *
 * @module
 */

import { expect, test } from 'vitest';

import { redirectUrl, WalkingClient } from '../../demo/walk/oauth-client.ts';
import { createAgent, toolCalls } from './agent.ts';
import { officialClients } from './official-clients.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const allowed = 'https://agent.example/client.json';

/** A client with a document of its own. */
class PublishedClient extends WalkingClient {
  readonly clientMetadataUrl = allowed;
}

const { world } = startDemoBeforeAll({
  authorizationServer: {
    clientDocuments: [allowed],
    fetchClientDocument: async () =>
      Response.json({ client_id: allowed, client_name: 'Published', redirect_uris: [redirectUrl] }),
  },
});

test.each(officialClients)('$name authorizes and steps up with its client metadata document', async (client) => {
  const oauth = new PublishedClient();
  const agent = createAgent(client, world().mcpUrl, { oauth });
  expect(await agent.connect(), 'it wants its user').toBe(false);
  expect(agent.recorder.take().map(({ url }) => url.pathname)).not.toContain('/oauth/v2/oauth-registration');
  expect(oauth.clientInformation()).toMatchObject({ client_id: allowed });
  expect(await agent.authorize()).toBe('read');
  expect(await agent.connect()).toBe(true);
  expect(await world().decision()).toMatchObject({ allow: true, subject: 'alice', client_id: allowed });

  const transfer = { from: 'savings', to: 'trading', amount: 10 };
  expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
  expect(await agent.authorize()).toBe('read payments');
  expect(await agent.call('transfer_funds', transfer)).toContain('"moved":10');
  expect(toolCalls(agent.recorder.take()).map(({ status }) => status)).toEqual([403, 200]);
  await agent.close();
});
