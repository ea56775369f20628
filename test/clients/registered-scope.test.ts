/**
 * An authorization server that never grants a client more than it registered with. The official clients register with
 * the scope of the first challenge.
 *
 * @module
 */

import { describe, expect, test } from 'vitest';

import { signIn } from '../../demo/browser.ts';
import { createAgent, toolCalls, type Agent } from './agent.ts';
import { officialClients, type OfficialClient } from './official-clients.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const transfer = { from: 'savings', to: 'trading', amount: 10 };
/** An agent that has registered, and wants its user. */
async function registered(
  client: OfficialClient,
  { world, keep }: ReturnType<typeof startDemoBeforeAll>,
): Promise<Agent> {
  const agent = keep(createAgent(client, world().mcpUrl));
  expect(await agent.connect(), 'it wants its user').toBe(false);
  return agent;
}

describe('with first_challenge: policy', () => {
  const demo = startDemoBeforeAll({ authorizationServer: { keepsRegisteredScope: true } });

  test.each(officialClients)('the server refuses the step-up of $name: invalid_scope', async (client) => {
    const agent = await registered(client, demo);
    expect(agent.oauth.clientInformation()).toMatchObject({ scope: 'read' });
    expect(await agent.authorize()).toBe('read');
    await agent.connect();
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    const callback = await signIn({
      authorizationUrl: agent.oauth.takeAuthorizationUrl(),
      user: 'alice',
      browser: agent.browser,
    });
    expect(callback.searchParams.get('error')).toBe('invalid_scope');
  });
});

describe('with first_challenge: supported', () => {
  const supported = 'scopes_supported: [read, payments]\n    first_challenge: supported\n';
  const demo = startDemoBeforeAll({
    authorizationServer: { keepsRegisteredScope: true },
    edit: (yaml) => yaml.replace('scopes_supported: [read]\n', supported),
  });

  test.each(officialClients)('$name registers with every scope and needs no step-up', async (client) => {
    const agent = await registered(client, demo);
    expect(agent.oauth.clientInformation()).toMatchObject({ scope: 'read payments' });
    expect(await agent.authorize()).toBe('read payments');
    await agent.connect();
    expect(await agent.call('transfer_funds', transfer)).toContain('"moved":10');
  });

  test.each(officialClients)('$name can step up from a smaller grant', async (client) => {
    const agent = await registered(client, demo);
    expect(await agent.authorize('read')).toBe('read payments');
    await agent.connect();
    agent.recorder.take();
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(await agent.authorize()).toBe('read payments');
    expect(await agent.call('transfer_funds', transfer)).toContain('"moved":10');
    expect(toolCalls(agent.recorder.take()).map(({ status }) => status)).toEqual([403, 200]);
  });
});
