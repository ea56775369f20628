/** The official clients on routes with `dpop`, with tokens that a real authorization server bound to their key. */
import { DpopSession, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';

import { WalkingClient } from '../../demo/walk/oauth-client.ts';
import { createAgent, signedInAgent, toolCalls } from './agent.ts';
import { officialClients } from './official-clients.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const { world, keep } = startDemoBeforeAll({
  authorizationServer: { dpop: true },
  edit: (yaml) => yaml.replace('    protocol: mcp\n', '    protocol: mcp\n    dpop: { nonce: true }\n'),
});

/** A client that has a key, and binds its tokens to it. */
class ProvingClient extends WalkingClient implements OAuthClientProvider {
  readonly session = DpopSession.create();
  dpop(): Promise<DpopSession> {
    return this.session;
  }
}

const transfer = { from: 'savings', to: 'trading', amount: 10 };
const balance = '{"id":"savings","currency":"SEK","balance":12500}';
const moved = '{"moved":10,"from":"savings","to":"trading"}';

describe.each(officialClients.filter(({ name }) => name.startsWith('SDK v2')))('$name with a key', (client) => {
  test('signs in, uses the nonce, lists, calls and steps up', async () => {
    const oauth = new ProvingClient();
    const agent = keep(createAgent(client, world().mcpUrl, { oauth }));
    expect(await agent.connect(), 'it wants its user').toBe(false);
    expect(await agent.authorize()).toBe('read');
    expect(oauth.tokens()?.token_type).toBe('DPoP');
    const statuses = agent.recorder.take().map(({ status }) => status);
    expect(
      statuses.filter((status) => status === 401),
      'the very first answer had a nonce',
    ).toHaveLength(1);
    (await oauth.session).rememberNonce(world().mcpUrl, 'of yesterday');
    expect(await agent.connect()).toBe(true);
    const [first, second] = agent.recorder.take().filter(({ url }) => url.pathname === '/mcp');
    expect(first?.status).toBe(401);
    expect(first?.headers.get('www-authenticate')).toMatch(/^DPoP error="use_dpop_nonce", scope="read", /);
    expect(first?.headers.get('dpop-nonce')).toBeTruthy();
    expect(second?.status, 'the same once more').toBe(200);
    expect(await agent.toolNames()).toContain('transfer_funds');
    expect(await agent.call('get_balance', { account: 'savings' })).toBe(balance);
    expect(
      agent.recorder.take().filter(({ status }) => status === 401),
      'the nonce is known now',
    ).toEqual([]);

    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(await agent.authorize()).toBe('read payments');
    expect(await agent.call('transfer_funds', transfer)).toBe(moved);
    expect(toolCalls(agent.recorder.take()).map(({ status }) => status)).toEqual([403, 200]);
    expect(agent.browser.pages).toEqual(['Sign in', 'Allow access', 'Allow access']);
  });
});

describe.each(officialClients)('$name without a key', (client) => {
  test('works on a route with optional DPoP', async () => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    expect(agent.oauth.tokens()?.token_type).toBe('Bearer');
    expect(await agent.call('get_balance', { account: 'savings' })).toBe(balance);
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(await agent.authorize()).toBe('read payments');
    expect(await agent.call('transfer_funds', transfer)).toBe(moved);
    const challenges = toolCalls(agent.recorder.take()).map(({ headers }) => headers.get('www-authenticate'));
    expect(challenges).toEqual([
      null,
      expect.stringMatching(
        /^Bearer error="insufficient_scope", scope="read payments", .*, DPoP scope="read payments", /,
      ),
      null,
    ]);
  });
});
