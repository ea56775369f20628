/**
 * The whole authorization life cycle, walked by the official clients themselves: only the person at the browser is ours.
 *
 * @module
 */

import type { StoredOAuthTokens } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';

import type { WalkingClient } from '../../demo/walk/oauth-client.ts';
import { createAgent, signedInAgent, toolCalls, type Agent, preRegistered } from './agent.ts';
import { officialClients } from './official-clients.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';

const { world, keep } = startDemoBeforeAll();

const transfer = { from: 'savings', to: 'trading', amount: 10 };
const moved = '{"moved":10,"from":"savings","to":"trading"}';
const balance = '{"id":"savings","currency":"SEK","balance":12500}';

function granted(oauth: WalkingClient): StoredOAuthTokens {
  const tokens = oauth.tokens();
  if (tokens === undefined) throw new Error('it has no tokens');
  return tokens;
}

function challengesOf(agent: Agent): readonly (readonly [number, string | null])[] {
  return toolCalls(agent.recorder.take()).map(({ status, headers }) => [status, headers.get('www-authenticate')]);
}

describe.each(officialClients)('$name', (client) => {
  test('discovers, registers, signs in, lists and calls', async () => {
    const agent = keep(createAgent(client, world().mcpUrl));
    expect(await agent.connect(), 'it wants its user').toBe(false);
    expect(agent.recorder.take().map(({ method, url, status }) => `${method} ${url.pathname} ${status}`)).toEqual([
      'POST /mcp 401',
      'GET /.well-known/oauth-protected-resource/mcp 200',
      'GET /.well-known/oauth-authorization-server 200',
      'POST /oauth/v2/oauth-registration 201',
    ]);
    expect(await agent.authorize()).toBe('read');
    expect(await agent.connect()).toBe(true);
    expect(agent.revision).toBe(client.revision);
    const methods = agent.recorder.take().map(({ sent }) => sent?.match(/"method":"([^"]*)"/)?.[1]);
    expect(methods, 'no era is tried in vain').not.toContain(client.methodOfTheOtherEra);
    const names = await agent.toolNames();
    expect(names).toContain('transfer_funds');
    expect(names, 'what the policy does not list').not.toContain('close_account');
    expect(await agent.call('get_balance', { account: 'savings' })).toBe(balance);
    expect(agent.browser.pages).toEqual(['Sign in', 'Allow access']);
  });

  test('steps up', async () => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    const challenge = `Bearer error="insufficient_scope", scope="read payments", ${world().resourceMetadata}`;
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(challengesOf(agent)).toEqual([[403, expect.stringContaining(challenge)]]);
    expect(await agent.authorize()).toBe('read payments');
    expect(await agent.call('transfer_funds', transfer)).toBe(moved);
    expect(challengesOf(agent)).toEqual([[200, null]]);
  });

  test(`asks for ${client.stepUpScope} on top of what it was granted beyond the challenge`, async () => {
    const agent = keep(createAgent(client, world().mcpUrl));
    await agent.connect();
    await agent.authorize('read write');
    await agent.connect();
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(await agent.authorize()).toBe(client.stepUpScope);
    expect(await agent.call('transfer_funds', transfer)).toBe(moved);
  });

  test('gets the same challenge after a smaller grant than it asked for, and does not loop', async () => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    expect(await agent.call('transfer_funds', transfer), 'it wants its user').toBeUndefined();
    expect(await agent.authorize('read')).toBe('read payments');
    const outcome = agent.call('transfer_funds', transfer).then(String, String);
    expect(await outcome).toContain(client.atTheSameChallenge);
    const [first, second, ...more] = challengesOf(agent);
    expect(first?.[0]).toBe(403);
    expect(second).toEqual(first);
    expect(more, 'one request a call').toEqual([]);
  });

  test('retries exactly once when a renewed token does not help', async () => {
    const oauth = preRegistered(world().issuer);
    const agent = keep(await signedInAgent(client, world().mcpUrl, { oauth }));
    // As if it had been granted the scope: then it has nothing to ask its user for, and refreshes.
    oauth.saveTokens({ ...granted(oauth), scope: 'read payments' });
    await expect(agent.call('transfer_funds', transfer)).rejects.toThrow(/403/);
    const seen = agent.recorder.take();
    expect(seen.filter(({ sent }) => sent?.includes('grant_type=refresh_token')).length).toBe(1);
    const [first, second, ...more] = toolCalls(seen).map(({ headers }) => headers.get('www-authenticate'));
    expect(first).toContain('error="insufficient_scope"');
    expect(second).toBe(first);
    expect(more).toEqual([]);
  });

  test('answers an unlisted tool with an error that starts no authorization', async () => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    await expect(agent.call('close_account', { account: 'savings' })).rejects.toThrow('tool.unlisted');
    expect(challengesOf(agent)).toEqual([[403, null]]);
    expect(() => agent.oauth.takeAuthorizationUrl(), 'no browser is opened').toThrow('did not send');
    expect(await agent.call('get_balance', { account: 'savings' }), 'and goes on').toBe(balance);
  });
});

describe.concurrent('after its token has expired', () => {
  const { world, keep } = startDemoBeforeAll({ authorizationServer: { highPrivilegeTtl: 3 } });

  // Only its own `expect` knows which of them it belongs to.
  test.for(officialClients)('$name authorizes again', async (client, { expect }) => {
    const agent = keep(await signedInAgent(client, world().mcpUrl));
    await agent.call('transfer_funds', transfer);
    await agent.authorize();
    await expect.poll(() => agent.call('get_balance', { account: 'savings' })).toBeUndefined();
    expect(challengesOf(agent).at(-1)).toEqual([
      401,
      expect.stringContaining(`Bearer error="invalid_token", scope="read", ${world().resourceMetadata}`),
    ]);
    expect(await agent.authorize(), 'only the scope that every call needs').toBe('read');
    expect(await agent.call('get_balance', { account: 'savings' })).toBe(balance);
    expect(agent.browser.pages).toEqual(['Sign in', 'Allow access', 'Allow access', 'Allow access']);
  });
});
