/**
 * `refusals: { final: tool_error }`: a model behind an official client reads why its call is refused and what to call
 * instead.
 *
 * @module
 */

import { describe, expect, test } from 'vitest';

import { signedInAgent, toolCalls } from './agent.ts';
import { officialClients } from './official-clients.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const toolsPolicy = `
scope: read
because: Call list_accounts to see what is there.
tools:
  list_accounts: {}
  'get_*': {}
  transfer_funds:
    scope: payments
    arguments: { /amount: { at_most: 1000 } }
    because: For more than 1000 use request_transfer.
`;

const { world, keep } = startDemoBeforeAll({
  policies: { 'demo-tools': toolsPolicy },
  edit: (yaml) => yaml.replace('policy: demo-tools\n', 'policy: demo-tools\n    refusals: { final: tool_error }\n'),
});
const signedIn = async (client: (typeof officialClients)[number]) => keep(await signedInAgent(client, world().mcpUrl));

const transfer = (amount: number) => ({ from: 'savings', to: 'trading', amount });

describe.each(officialClients)('$name', (client) => {
  test('gives the model the words for an argument, without a sign-in', async () => {
    const agent = await signedIn(client);
    const result = await agent.result('transfer_funds', transfer(5000));
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: 'text', text: expect.stringMatching(/^Access denied: For more than 1000 use request_transfer\. /) },
      ],
    });
    expect(toolCalls(agent.recorder.take()).map(({ status }) => status)).toEqual([200]);
    expect(await world().decision({ reason: 'argument.denied' })).toMatchObject({ allow: false, subject: 'alice' });
  });

  test('gives the model the words of the policy for a tool that is not listed, and goes on', async () => {
    const agent = await signedIn(client);
    expect(await agent.call('close_account', { account: 'savings' })).toContain(
      'Call list_accounts to see what is there.',
    );
    expect(() => agent.oauth.takeAuthorizationUrl(), 'no browser is opened').toThrow('did not send');
    expect(await agent.call('get_balance', { account: 'savings' })).toContain('12500');
  });
});
