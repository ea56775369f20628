/** A registration lives for its lifetime after its last use. */
import { beforeEach, expect, test } from 'vitest';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

const MINUTE_MS = 60_000;
let ahead = 0;
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: 'clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"], lifetime: 1h } }',
    clock: () => Date.now() + ahead,
  }),
);
beforeEach(() => {
  ahead = 0;
});

async function isKnown(client: OAuthClient): Promise<boolean> {
  const { status } = await fetch(client.authorizationUrl(), { redirect: 'manual' });
  return status === 303;
}

test.each<readonly [use: string, use: (client: OAuthClient) => Promise<unknown>, isKnownLater: boolean]>([
  ['a code that is not redeemed', (client) => client.authorize(), true],
  ['a token', (client) => client.token(), true],
  ['a refusal by the person', (client) => client.authorize({ approve: false }), false],
  ['nothing', async () => {}, false],
])('is renewed by its use: %s', async (_use, use, isKnownLater) => {
  const client = await registerClient(world.issuer);
  ahead = 50 * MINUTE_MS;
  await use(client);
  ahead = 59 * MINUTE_MS;
  expect(await isKnown(client)).toBe(true);
  ahead = 100 * MINUTE_MS;
  expect(await isKnown(client)).toBe(isKnownLater);
});

test('a refused registration is logged with its reason and the name of the client', async () => {
  const refused = await fetch(`${world.issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'n'.repeat(500), redirect_uris: ['https://evil.example/callback'] }),
  });
  expect(refused.status).toBe(400);
  expect(world.observed).toContain(
    `registration invalid_redirect_uri ${'n'.repeat(100)} redirect URI https://evil.example/callback is not allowed here`,
  );
});

test('R-283: a registration that was never used ends after a day, and makes room', async () => {
  const long = await forThisTest(startFrontDoorWorld({ clock: () => Date.now() + ahead }));
  const [used, unused] = [await registerClient(long.issuer), await registerClient(long.issuer)];
  await used.token();
  ahead = 24 * 60 * MINUTE_MS + 1;
  expect([await isKnown(used), await isKnown(unused)]).toEqual([true, false]);
});

test('a person whose client is not known any more reads what to do in it', async () => {
  const client = await registerClient(world.issuer);
  ahead = 24 * 60 * MINUTE_MS + 1;
  const answer = await fetch(client.authorizationUrl());
  const page = await answer.text();
  expect(answer.status).toBe(400);
  expect(page).toContain('This service does not know your client. Its registration may have ended.');
  expect(page).toContain('Remove this server in your client, and add it again.');
  expect(page).not.toContain('start again in your client');
});
