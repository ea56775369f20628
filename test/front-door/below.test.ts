/** The front door behind a public route of the gateway: the same origin, a path of its own. */
import { expect, test } from 'vitest';
import { WalkingClient } from '../../demo/walk/oauth-client.ts';
import { type Agent, createAgent } from '../clients/agent.ts';
import { legacyClients, type OfficialClient, sdkV2Auto } from '../clients/official-clients.ts';
import { keepSecret } from '../support/secrecy.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { register, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const frontDoor = 'clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }';
const world = startBeforeAll(() => startFrontDoorWorld({ below: '/signin', frontDoor }));

/** An agent that has signed in, with the grants that its client registers. */
async function signedIn(client: OfficialClient, ...grants: readonly string[]): Promise<Agent> {
  const agent = createAgent(client, world.mcpUrl, { oauth: new WalkingClient(undefined, grants) });
  expect(await agent.connect()).toBe(false);
  await agent.authorize();
  expect(await agent.connect()).toBe(true);
  return agent;
}
const transferBy = (agent: Agent): Promise<string | undefined> =>
  agent.call('transfer_funds', { from: 'savings', to: 'trading', amount: 10 });

test.each([...legacyClients, sdkV2Auto])('$name signs its user in, and steps up', async (client) => {
  const agent = await signedIn(client, 'authorization_code');
  expect(await transferBy(agent)).toBeUndefined();
  expect(await agent.authorize()).toBe('read payments');
  expect(await transferBy(agent)).toMatch(/"moved":10/);
  await agent.close();
});

test('SDK v2 steps up although it has a refresh token, and refreshes a token that has ended', async () => {
  const agent = await signedIn(sdkV2Auto, 'authorization_code', 'refresh_token');
  expect(await transferBy(agent)).toBeUndefined();
  await agent.authorize();
  expect(await transferBy(agent)).toMatch(/"moved":10/);
  const tokens = agent.oauth.tokens();
  agent.oauth.saveTokens({ token_type: 'Bearer', ...tokens, access_token: 'ended' });
  expect(await transferBy(agent)).toMatch(/"moved":10/);
  expect(agent.oauth.tokens()?.refresh_token).not.toBe(tokens?.refresh_token);
  await agent.close();
});

test('SDK v1 with a refresh token refreshes at a 403, and does not ask for the scope', async () => {
  const [sdkV1] = legacyClients as readonly [OfficialClient];
  const agent = await signedIn(sdkV1, 'authorization_code', 'refresh_token');
  await expect(transferBy(agent)).rejects.toThrow(sdkV1.atTheSameChallenge);
  expect(world.observed).toContain('token refresh_token ok');
  await agent.close();
});

test.each([
  ['without a scope', { scope: undefined }],
  ['with two scopes', { scope: 'read payments' }],
  ['with a resource in another spelling', { resource: 'the origin' }],
  ['with max_age', { max_age: '300' }],
])('R-271: a request %s comes back to its client', async (_kind, parameters) => {
  const client = await registerClient(world.issuer);
  const { origin } = world.mcpUrl;
  const resource = 'resource' in parameters ? { resource: origin } : {};
  const { callback } = await client.authorize({ parameters: { ...parameters, ...resource } });
  expect(callback.searchParams.get('code')).toMatch(/./);
});

test('R-271: a client authenticates with a header, and learns why it is refused', async () => {
  const client = await registerClient(world.issuer, { token_endpoint_auth_method: 'client_secret_basic' });
  const form = new URLSearchParams(await client.code());
  const redeem = (secret: string): Promise<Response> => {
    const authorization = `Basic ${Buffer.from(`${client.id}:${secret}`).toString('base64')}`;
    return fetch(`${world.issuer}/token`, { method: 'POST', headers: { authorization }, body: form });
  };
  const refused = await redeem('guessed');
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^Basic realm=.*error="invalid_client"/),
  ]);
  const answer = await redeem(String(client.registration['client_secret']));
  const body = (await answer.json()) as Record<string, unknown>;
  keepSecret(String(body['access_token']));
  expect(await world.listTools(body['access_token'])).toBe(200);
});

test('R-271: a page of any origin can be a client, as at an origin of its own, and call no other route', async () => {
  const origin = 'https://agent.example';
  const preflight = (url: string): Promise<Response> =>
    fetch(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' },
    });
  for (const endpoint of ['register', 'token', 'revoke']) {
    const { status, headers } = await preflight(`${world.issuer}/${endpoint}`);
    const [allowed, credentials] = ['origin', 'credentials'].map((name) => headers.get(`access-control-allow-${name}`));
    expect([endpoint, status, allowed, credentials]).toEqual([endpoint, 204, origin, null]);
    expect(headers.get('access-control-allow-headers')).toMatch(/dpop/i);
  }
  const { status, body } = await register(world.issuer, { client_name: 'A page' }, { origin });
  expect([status, body['client_name']]).toEqual([201, 'A page']);
  const refused = await fetch(`${world.issuer}/token`, { method: 'POST', headers: { origin } });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([400, origin]);
  expect((await preflight(world.mcpUrl.href)).status).toBe(403);
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
      // For clients that drop the path of an issuer.
      `${origin}/.well-known/oauth-authorization-server`,
      `${origin}/.well-known/openid-configuration`,
    ].map(read),
  );
  for (const document of documents) expect(document).toMatchObject({ issuer: `${origin}/signin` });
  expect((await fetch(`${origin}/.well-known/oauth-authorization-server/other`)).status).toBe(404);
  expect((await fetch(`${origin}/signin/nothing`)).status).toBe(404);
});
