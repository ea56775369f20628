/** A client that an agent controls must not get a token that decides on calls, whatever a person consents to. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createBrowser, signIn } from '../../demo/browser.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, registerClient } from '../worlds/oauth-client.ts';

const callback = 'http://127.0.0.1:8976/callback';
const registered = (more: string): string =>
  `{ client_secret: "the-secret-of-the-client", redirect_uris: ["${callback}"]${more} }`;

const world = startBeforeAll(() =>
  startFrontDoorWorld({
    top: 'approvals: { authorization_servers: [front_door] }',
    frontDoor: `clients:
    refresh: true
    registration: { redirect_uris: ["http://127.0.0.1:*/**"] }
    registered: { agent: ${registered('')}, phone: ${registered(', approvals: true')} }`,
  }),
);
const resource = (): string => new URL('/approvals', world.mcpUrl).href;
const known = (id: string) => oauthClient(world.issuer, id, callback, { client_secret: 'the-secret-of-the-client' });

describe('a token for the API for approvers', () => {
  test.each([
    ['that registered itself', async () => registerClient(world.issuer)],
    ['that the operator registered', async () => known('agent')],
  ])('is not for a client %s', async (_which, clientOf) => {
    const client = await clientOf();
    for (const indicator of [resource(), `${resource()}?x=1`, resource().replace('http:', 'HTTP:')])
      expect(await client.errorOf({ parameters: { resource: indicator } })).toBe('invalid_target');
    const form = await client.code({ parameters: { resource: world.mcpUrl.href, scope: 'read' } });
    expect(await client.post({ ...form, resource: resource() })).toMatchObject({ status: 400 });
  });

  test('is for a client that the operator lists, and the person reads what it can do', async () => {
    const client = known('phone');
    const url = client.authorizationUrl({ resource: resource() });
    const browser = createBrowser();
    const begun = await browser.fetch(url);
    const page = await browser.fetch(new URL(begun.headers.get('location') ?? '', world.issuer));
    expect(await page.text()).toContain('It may approve calls in your name.');
    const { status, body } = await client.token({ parameters: { resource: resource() } });
    expect(status).toBe(200);
    const headers = { authorization: `Bearer ${String(body['access_token'])}` };
    expect((await fetch(resource(), { headers })).status).toBe(200);
    expect((await client.refresh(body['refresh_token'])).status).toBe(200);
  });

  test('is not for a registered client that the operator no longer lists', async () => {
    const client = known('phone');
    const { body } = await client.token({ parameters: { resource: resource() } });
    const { clients } = world.config.frontDoor;
    const phone = clients.registered.get('phone');
    if (phone === undefined) throw new Error('the client is not registered');
    const without = new Map([...clients.registered, ['phone', { ...phone, mayApprove: false }] as const]);
    world.frontDoor.reload(world.configWith({ clients: { ...clients, registered: without } }));
    expect((await client.refresh(body['refresh_token'])).status).toBe(400);
    world.frontDoor.reload(world.config);
  });

  test('is not for a code of the page itself, whose client has no secret', async () => {
    const page = oauthClient(world.issuer, 'approvals', `${world.issuer}/approval`);
    const verifier = 'v'.repeat(43);
    const challenge = hash('sha256', verifier, 'base64url');
    const authorizationUrl = page.authorizationUrl({ resource: resource(), code_challenge: challenge, state: 'x' });
    const back = await signIn({ authorizationUrl, user: '', browser: createBrowser(), approve: true });
    const code = back.searchParams.get('code') ?? '';
    expect(code).not.toBe('');
    const form = { grant_type: 'authorization_code', code, redirect_uri: page.redirectUri, code_verifier: verifier };
    expect(await page.post(form)).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  });

  test('the consent page of other resources does not speak of approvals', async () => {
    const browser = createBrowser();
    const begun = await browser.fetch((await registerClient(world.issuer)).authorizationUrl());
    const page = await browser.fetch(new URL(begun.headers.get('location') ?? '', world.issuer));
    expect(await page.text()).not.toContain('approve calls');
  });
});
