/** Official MCP clients sign in through the front door at providers with the habits of Entra ID and Google. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedInAgent } from '../clients/agent.ts';
import { legacyClients, sdkV2Auto } from '../clients/official-clients.ts';
import { type EmulatedProvider, entra, google, startEmulatedProvider } from '../support/emulated-provider.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';

const clients = [...legacyClients, sdkV2Auto];
const scopes = '{ read: { title: Read accounts }, payments: { title: Move money, max_age: 5m } }';
const openRegistration = 'clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }';

async function startWith(habits: typeof entra, rest: Parameters<typeof startFrontDoorWorld>[0]) {
  let provider: EmulatedProvider | undefined;
  const world = await startFrontDoorWorld({
    scopes,
    frontDoor: openRegistration,
    ...rest,
    startProvider: async (redirectUri) => (provider = await startEmulatedProvider(habits, redirectUri)),
  });
  return { world, provider: provider as unknown as EmulatedProvider };
}

describe('Entra ID', () => {
  let world: FrontDoorWorld;
  let provider: EmulatedProvider;
  beforeAll(async () => {
    ({ world, provider } = await startWith(entra, {
      claims: '{ role: /roles/0, tenant: tid, groups: groups, level: /xms_level }',
      providerLines:
        '      scopes: [openid, profile, "api://sallyport/accounts.read"]\n      client_auth: client_secret_post',
      policy: 'scope: read\nclaims: { role: trader }\ntools:\n  list_*: {}\n  transfer_funds: { scope: payments }\n',
    }));
    provider.person = { sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', claims: { roles: ['trader'] } };
  });
  afterAll(() => world.close());

  test.each(clients)('$name signs in with PKCE and without `resource` at the provider', async (client) => {
    const agent = await signedInAgent(client, world.mcpUrl);
    expect(await agent.toolNames()).toContain('list_accounts');
    const asked = provider.authorizations.at(-1);
    expect(Object.fromEntries(asked ?? [])).toMatchObject({
      scope: 'openid profile api://sallyport/accounts.read',
      code_challenge_method: 'S256',
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(asked?.has('resource')).toBe(false);
    expect(provider.exchanges.at(-1)?.get('client_secret')).toBe(provider.clientSecret);
    await agent.close();
  });

  test('a claim of another type than the policy needs gives no access', async () => {
    for (const roles of ['trader', [{ name: 'trader' }], { 0: { trader: true } }, [['trader']]]) {
      provider.person = { sub: 'another', claims: { roles } };
      await expect(signedInAgent(sdkV2Auto, world.mcpUrl)).rejects.toThrow(/403|Forbidden|authorize again/i);
      expect(await world.decision()).toMatchObject({ allow: false, reason: 'claim.denied' });
    }
    provider.person = { sub: 'another', claims: { roles: ['trader'] } };
  });

  test('a scope with max_age fails closed without `auth_time`', async () => {
    const agent = await signedInAgent(sdkV2Auto, world.mcpUrl);
    expect(await agent.call('transfer_funds', { from: 'savings', to: 'trading', amount: 1 })).toBeUndefined();
    await expect(agent.authorize()).rejects.toThrow(/./);
    expect(world.observed.at(-1)).toContain('auth_time');
    expect(provider.authorizations.at(-1)?.get('max_age')).toBe('300');
    await agent.close();
  });
});

describe('Google', () => {
  let world: FrontDoorWorld;
  let provider: EmulatedProvider;
  beforeAll(async () => {
    ({ world, provider } = await startWith(google, {
      claims: '{ organization: hd, locale: locale }',
      policy: 'scope: read\nclaims: { organization: acme.com, locale: en }\ntools:\n  list_*: {}\n',
    }));
    provider.person = {
      sub: '110169484474386276334',
      claims: { hd: 'acme.com', locale: 'en', email: 'jane@acme.com' },
    };
  });
  afterAll(() => world.close());

  test('a client signs in; claims come from the ID token and from userinfo', async () => {
    const before = provider.userInfoRequests;
    const agent = await signedInAgent(sdkV2Auto, world.mcpUrl);
    expect(await agent.toolNames()).toContain('list_accounts');
    expect(provider.userInfoRequests).toBe(before + 1);
    await agent.close();
  });

  test('a person without an organization is signed in, and the policy decides', async () => {
    const { person } = provider;
    provider.person = { sub: '7', claims: { locale: 'en', email: 'eve@gmail.com' } };
    await expect(signedInAgent(sdkV2Auto, world.mcpUrl)).rejects.toThrow(/403|Forbidden|authorize again/i);
    expect(await world.decision()).toMatchObject({ allow: false, reason: 'claim.denied' });
    provider.person = person;
  });
});
