/** Several providers, tokens as JWTs, and claims of the userinfo endpoint. */
import { describe, expect, test } from 'vitest';
import { createBrowser } from '../../demo/browser.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

describe('tokens as JWTs', () => {
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      frontDoor: `clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }
  tokens: { format: jwt, lifetime: 5m }`,
      provider: { idTokenClaims: [], userInfoClaims: ['roles', 'tid'] },
      top: 'log: { claims: [tenant, /role, absent] }',
      policy: 'scope: read\nclaims: { role: trader, tenant: acme }\ntools: { "list_*": {} }\n',
    }),
  );

  test('carry the claims of the userinfo endpoint, and the gateway verifies them by the keys of the front door', async () => {
    world.provider.person = { sub: '1', claims: { roles: ['trader'], tid: 'acme' } };
    const { body } = await (await registerClient(world.issuer)).token();
    const [header = '', payload = ''] = String(body['access_token']).split('.');
    const parse = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(parse(header)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(parse(payload)).toMatchObject({
      iss: world.issuer,
      aud: world.mcpUrl.href,
      scope: 'read',
      role: 'trader',
      tenant: 'acme',
    });
    expect([body['expires_in'], await world.listTools(body['access_token'])]).toEqual([300, 200]);
    // both logs say who it was, in the claims that the operator lists.
    const claims = { tenant: 'acme', '/role': 'trader' };
    expect(await world.line({ msg: 'decision', allow: true })).toMatchObject({ claims });
    expect(world.observed.join('\n')).toContain(JSON.stringify(claims));
    world.provider.person = { sub: '2', claims: { roles: ['auditor'], tid: 'acme' } };
    const { body: other } = await (await registerClient(world.issuer)).token();
    expect(await world.listTools(other['access_token'])).toBe(403);
  });
});

describe('several providers', () => {
  const partners = startBeforeAll(() => startIdentityProvider({ redirectUri: 'http://127.0.0.1:1/unused' }));
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      provider: { client: { token_endpoint_auth_method: 'client_secret_post' } },
      providerLines: `      domains: [acme.com]
      client_auth: client_secret_post
      scopes: [openid, email]
    partners: { issuer: ${partners.issuer}, client_id: ${partners.clientId}, client_secret: ${partners.clientSecret}, domains: [partners.example] }`,
    }),
  );

  test('the address decides which one, and single sign-on asks for it no more', async () => {
    const browser = createBrowser();
    const client = await registerClient(world.issuer);
    const { body } = await client.token({ browser, user: 'jane@x.acme.com' });
    expect(await world.listTools(body['access_token'])).toBe(200);
    const asked = world.provider.authorizations.at(-1);
    expect([asked?.get('login_hint'), asked?.get('scope')]).toEqual(['jane@x.acme.com', 'openid email']);
    expect(asked?.get('resource')).toBeNull();
    const shown = world.provider.authorizations.length;
    await client.token({ browser });
    expect(world.provider.authorizations.length).toBe(shown);
    await expect(client.token({ user: 'jane@partners.example' })).rejects.toThrow(/redirect_uri/);
  });

  test('an address of no provider is asked for again', async () => {
    const client = await registerClient(world.issuer);
    await expect(client.authorize({ user: 'jane@evilacme.com' })).rejects.toThrow('No sign-in is configured');
  });
});
