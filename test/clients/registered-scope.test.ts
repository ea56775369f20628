/**
 * An authorization server that never grants a client more than it registered with, and `first_challenge: supported`:
 * the official clients register with the scope of the first challenge.
 *
 * @module
 */
import { expect, test } from 'vitest';
import { startDemoBeforeAll } from '../worlds/demo.ts';
import { createAgent } from './agent.ts';
import { officialClients } from './official-clients.ts';

const supported = 'scopes_supported: [read, payments]\n    first_challenge: supported\n';
const { world, keep } = startDemoBeforeAll({
  authorizationServer: { keepsRegisteredScope: true },
  edit: (yaml) => yaml.replace('scopes_supported: [read]\n', supported),
});

test.each(officialClients)('$name registers with every scope and needs no step-up', async (client) => {
  const agent = keep(createAgent(client, world().mcpUrl));
  expect(await agent.connect(), 'it wants its user').toBe(false);
  expect(agent.oauth.clientInformation()).toMatchObject({ scope: 'read payments' });
  expect(await agent.authorize()).toBe('read payments');
  await agent.connect();
  expect(await agent.call('transfer_funds', { from: 'savings', to: 'trading', amount: 10 })).toContain('"moved":10');
});
