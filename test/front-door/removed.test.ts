/** What the operator removes from the configuration ends for those who used it. */
import { expect, test } from 'vitest';
import type { FrontDoor } from '../../src/ports/front-door.ts';
import { keepSecret } from '../support/secrecy.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient } from '../worlds/oauth-client.ts';
import { startBeforeEach } from '../support/start-before.ts';

const secret = 'the-secret-of-the-desk-app';
keepSecret(secret);

const world = startBeforeEach(() =>
  startFrontDoorWorld({
    frontDoor: `clients:
    registered:
      desk-app: { client_secret: ${secret}, redirect_uris: ["http://127.0.0.1:*/callback"], refresh: true }`,
  }),
);
const desk = (): OAuthClient => oauthClient(world.issuer, 'desk-app', undefined, { client_secret: secret });

function reload(change: Partial<FrontDoor>): void {
  world.frontDoor.reload(world.configWith(change));
}

test('tokens of a client that was removed open nothing, and its refresh tokens end', async () => {
  const { body } = await desk().token();
  reload({ clients: { ...world.config.frontDoor.clients, registered: new Map() } });
  expect(await world.listTools(body['access_token'])).toBe(401);
  const refreshed = await desk().refresh(body['refresh_token']);
  expect(refreshed.body).toMatchObject({ error: 'invalid_client' });
});

test('people of a provider that was removed get no further tokens, and sign in again', async () => {
  const { body } = await desk().token();
  const [corporate] = world.config.frontDoor.providers.values();
  if (corporate !== undefined) reload({ providers: new Map([['other', { ...corporate, name: 'other' }]]) });
  const refreshed = await desk().refresh(body['refresh_token']);
  expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
});
