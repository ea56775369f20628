import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { revocationId } from '../../src/capabilities/revocation/revoked.ts';
import type { Revocations } from '../../src/capabilities/revocation/revocations.ts';
import type { RevokedByCommand } from '../../src/ports/revocation.ts';
import { createBrowser } from '../../demo/browser.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const secret = 'the-secret-of-the-desk';
let client: OAuthClient;
let people = 0;
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: `clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] }, registered: { desk: { client_secret: ${secret}, grants: [authorization_code, refresh_token], redirect_uris: ["http://127.0.0.1:*/callback"] } } }\n  acr_values: [phr, mfa]`,
    top: 'revocation: {}',
    policy: '{}',
  }),
);
beforeAll(async () => {
  client = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
});
beforeEach(() => {
  people += 1;
  world.provider.person = { sub: `person-${people}`, claims: { email: `person-${people}@acme.com` } };
});

const revoke = (command: object) => world.gateway.kept?.revoke(command);
const claimsOf = (jwt: unknown) =>
  JSON.parse(Buffer.from(String(jwt).split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const refused = { status: 400, body: { error: 'invalid_grant' } };
/** A revocation refuses what was issued in the same second. A timer may fire a millisecond early. */
const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_005 - (Date.now() % 1_000)));

describe('R-324: a person of an identity provider loses', () => {
  test.each([
    ['by the subject there', () => ({ issuer: world.provider.issuer, subject: world.provider.person?.sub })],
    ['by the address', () => ({ email: `Person-${people}@ACME.com` })],
  ])('tokens, refresh tokens and the session: %s', async (_, command) => {
    const browser = createBrowser();
    const { body } = await client.token({ browser, parameters: { scope: 'read' } });
    expect(await world.listTools(body['access_token'])).toBe(200);
    const signIns = world.provider.authorizations.length;
    await client.token({ browser, parameters: { scope: 'read' } });
    expect(world.provider.authorizations.length).toBe(signIns);
    expect(await revoke(command())).toContainEqual(expect.objectContaining({ blocks: false }));
    expect(await world.listTools(body['access_token'])).toBe(401);
    expect(await client.refresh(body['refresh_token'])).toMatchObject(refused);
    await nextSecond();
    const later = await client.token({ browser, parameters: { scope: 'read' } });
    expect(world.provider.authorizations.length).toBe(signIns + 1);
    expect(await world.listTools(later.body['access_token'])).toBe(200);
    expect((await client.refresh(later.body['refresh_token'])).status).toBe(200);
  });

  test('a code that was not used yet, and nobody else loses anything', async () => {
    const [mine, other] = [await client.code(), people];
    world.provider.person = { sub: 'somebody-else' };
    const another = await client.token();
    await revoke({ issuer: world.provider.issuer, subject: `person-${other}` });
    expect(await client.post(mine)).toMatchObject(refused);
    expect(await world.listTools(another.body['access_token'])).toBe(200);
    expect((await client.refresh(another.body['refresh_token'])).status).toBe(200);
  });

  test('a refreshed token too: it rests on a sign-in from before', async () => {
    const { body } = await client.token();
    await nextSecond();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const refreshed = await client.refresh(body['refresh_token']);
    expect(refreshed.status).toBe(200);
    const before = Math.floor(Date.now() / 1000) - 1;
    const subject = String((await introspected(refreshed.body['access_token']))['sub']);
    (world.gateway.kept as Revocations | undefined)?.check.add([
      { issuer: world.issuer, subject, at: before, arrivedAt: before },
    ]);
    expect((await client.refresh(refreshed.body['refresh_token'])).status).toBe(400);
  });
});

describe('a client that an operator ends', () => {
  const metadata = { grant_types: ['authorization_code', 'refresh_token'] };
  const unknown = { status: 401, body: { error: 'invalid_client' } };

  test('has neither tokens, grants nor registration, until it registers anew', async () => {
    const ended = await registerClient(world.issuer, metadata);
    const [{ body }, code] = [await ended.token(), await ended.code()];
    const other = await client.token();
    expect(await revoke({ client: ended.id, issuer: world.issuer })).toMatchObject([{ blocks: true }]);
    expect(await world.listTools(body['access_token'])).toBe(401);
    expect(await ended.refresh(body['refresh_token'])).toMatchObject(unknown);
    expect(await ended.post(code)).toMatchObject(unknown);
    expect(await world.listTools(other.body['access_token'])).toBe(200);
    await nextSecond();
    const anew = await registerClient(world.issuer, metadata);
    expect(await world.listTools((await anew.token()).body['access_token'])).toBe(200);
  });

  test('gets no grant and no registration back with the lift', async () => {
    const ended = await registerClient(world.issuer, metadata);
    const { body } = await ended.token();
    await revoke({ client: ended.id, issuer: world.issuer });
    const kept = [...((world.gateway.kept as Revocations | undefined)?.check.all() ?? [])];
    const [id] = kept.filter(({ client: each }) => each === ended.id).map(revocationId);
    expect(await world.gateway.kept?.lift(id ?? '')).toBeUndefined();
    expect(await ended.refresh(body['refresh_token'])).toMatchObject(unknown);
  });

  test('that the operator registered is blocked until the lift, and its refresh tokens stay ended', async () => {
    const desk = oauthClient(world.issuer, 'desk', undefined, { client_secret: secret });
    const { body } = await desk.token();
    const [{ id } = { id: '' }] = (await revoke({
      client: 'desk',
      issuer: world.issuer,
    })) as readonly RevokedByCommand[];
    await nextSecond();
    expect(await desk.refresh(body['refresh_token'])).toMatchObject(unknown);
    expect(await world.gateway.kept?.lift(id)).toBeUndefined();
    expect(await desk.refresh(body['refresh_token'])).toMatchObject(refused);
    await nextSecond();
    const later = await desk.token();
    expect((await desk.refresh(later.body['refresh_token'])).status).toBe(200);
  });

  test('for one person keeps its grants of others', async () => {
    const mine = await client.token();
    const subject = String((await introspected(mine.body['access_token']))['sub']);
    world.provider.person = { sub: 'another-person' };
    const another = await client.token();
    expect(await revoke({ client: client.id, subject, issuer: world.issuer })).toMatchObject([{ blocks: false }]);
    expect(await client.refresh(mine.body['refresh_token'])).toMatchObject(refused);
    expect((await client.refresh(another.body['refresh_token'])).status).toBe(200);
  });

  test('is never the gateway itself', async () => {
    const { body } = await client.token();
    await revoke({ client: 'gateway', issuer: world.issuer });
    expect(await introspected(body['access_token'])).toMatchObject({ active: true });
  });
});

async function introspected(token: unknown): Promise<Record<string, unknown>> {
  const own = world.config.frontDoor.server.introspection?.credentials as { clientId: string; clientSecret: string };
  const authorization = `Basic ${Buffer.from(`${own.clientId}:${own.clientSecret}`).toString('base64')}`;
  const body = new URLSearchParams({ token: String(token) });
  const response = await fetch(`${world.issuer}/introspect`, { method: 'POST', headers: { authorization }, body });
  return (await response.json()) as Record<string, unknown>;
}

describe('RFC 9470: the front door', () => {
  test('publishes acr_values_supported', async () => {
    const metadata = (await (await fetch(`${world.issuer}/.well-known/oauth-authorization-server`)).json()) as object;
    expect(metadata).toMatchObject({ acr_values_supported: ['phr', 'mfa'] });
  });

  test.each([
    ['read', false],
    ['openid read', true],
  ])('passes acr_values and max_age on with the scope %s, and puts the answer into its tokens', async (scope) => {
    const authTime = Math.floor(Date.now() / 1000) - 20;
    world.provider.person = { sub: 'careful', acr: 'phr', authTime };
    const { body } = await client.token({ parameters: { scope, acr_values: 'phr mfa', max_age: '60' } });
    const asked = world.provider.authorizations.at(-1);
    expect([asked?.get('acr_values'), asked?.get('max_age')]).toEqual(['phr mfa', '60']);
    expect(await introspected(body['access_token'])).toMatchObject({ acr: 'phr', auth_time: authTime, active: true });
    expect(claimsOf(body['id_token'])).not.toHaveProperty('amr');
  });

  test('refuses a sign-in of another kind, and one that is too old', async () => {
    world.provider.person = { sub: 'careless', acr: 'pwd' };
    expect(await client.errorOf({ parameters: { acr_values: 'phr' } })).toBe('unmet_authentication_requirements');
    world.provider.person = { sub: 'careless', acr: 'phr', authTime: Math.floor(Date.now() / 1000) - 3600 };
    expect(await client.errorOf({ parameters: { max_age: '60' } })).toBe('server_error');
  });

  test('sends a person with a session to the provider for another kind of sign-in', async () => {
    const browser = createBrowser();
    world.provider.person = { sub: 'steps-up', acr: 'pwd' };
    await client.token({ browser });
    const before = world.provider.authorizations.length;
    // The session at this provider is as before, and it does not ask again.
    const error = await client.errorOf({ browser, parameters: { acr_values: 'mfa' } });
    expect([error, world.provider.authorizations.length]).toEqual(['unmet_authentication_requirements', before + 1]);
  });
});
