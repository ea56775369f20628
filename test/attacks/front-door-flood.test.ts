/**
 * Floods of the front door's memory: by a site that sends the browsers of many people through it, by one address
 * without a sign-in, and by one signed-in person. Each ends with a refusal of the flooder alone.
 *
 * @module
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { createSignIns } from '../../src/front-door/sign-ins.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { register, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: 'clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }',
  }),
);

const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });

test('sign-ins of one address are refused after 300, and those of others begin and end', async () => {
  const client = await registerClient(world.issuer);
  const begin = (address: string): Promise<Response> =>
    fetch(client.authorizationUrl(), { redirect: 'manual', headers: from(address) });
  const statuses = await Promise.all(Array.from({ length: 320 }, async () => (await begin('203.0.113.7')).status));
  expect(statuses.filter((status) => status === 303).length).toBeGreaterThanOrEqual(300);
  const refused = await begin('203.0.113.7');
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
  expect(await refused.text()).toContain('Too many sign-ins began');
  expect((await begin('2001:db8::1')).status).toBe(303);
  const { body } = await client.token();
  expect(await world.listTools(body['access_token'])).not.toBe(401);
});

test.each([
  '/AUTHORIZE',
  '/authorize/',
  '/%61uthorize',
  '/register/',
  '/Register',
  '/.well-known/openid-configuration/',
])('%s is no endpoint: the limits of the endpoints would not apply to it', async (path) => {
  const [authorize, registration] = await Promise.all([
    fetch(`${world.issuer}${path}`, { redirect: 'manual' }),
    fetch(`${world.issuer}${path}`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
  ]);
  expect([authorize.status, registration.status]).toEqual([404, 404]);
});

test('registrations of one IPv6 network are refused after 100, as an OAuth error with a time to try again', async () => {
  const all = await Promise.all(
    Array.from({ length: 110 }, (_each, index) => register(world.issuer, {}, from(`2001:db8:7::${index + 1}`))),
  );
  const refused = all.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(8);
  expect(refused[0]?.body).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await register(world.issuer, {}, from('2001:db8:8::1'))).status).toBe(201);
});

test('registrations of a /48 of IPv6 are refused after those of ten networks', async () => {
  const refused: unknown[] = [];
  for (let network = 0; network < 12; network += 1) {
    const from48 = from(`2001:db8:9:${network.toString(16)}::1`);
    const all = await Promise.all(
      Array.from({ length: 90 }, () => register(world.issuer, { redirect_uris: [] }, from48)),
    );
    for (const { status, body } of all) if (status === 429) refused.push(body);
  }
  expect(refused.length).toBeGreaterThan(50);
  expect(refused[0]).toMatchObject({ error: 'temporarily_unavailable' });
});

// test/front-door/grants.test.ts makes more of them than a person may have records.
test('the first of many refreshes of one person ends all tokens when it is used again', async () => {
  const client = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
  const { body: first } = await client.token();
  let last = first;
  for (let count = 0; count < 20; count += 1) {
    ({ body: last } = await client.refresh(last['refresh_token']));
    await client.post({ token: String(last['access_token']) }, '/revoke');
  }
  expect(last['refresh_token']).toBeDefined();
  expect((await client.refresh(first['refresh_token'])).body).toMatchObject({ error: 'invalid_grant' });
  expect((await client.refresh(last['refresh_token'])).body).toMatchObject({ error: 'invalid_grant' });
});

test('a flood of sign-ins that come back does not keep others out, and each counts once', async () => {
  const signIns = createSignIns(createMemoryStore(Date.now), { bind() {}, isBound: () => true }, Date.now);
  const request = new IncomingMessage(new Socket());
  const about = { interaction: 'one', provider: 'corporate', hasConsented: true, maxAgeSeconds: undefined };
  const taken = async (): Promise<readonly boolean[]> => {
    const { state } = await signIns.begin({ ...about, mustBeNew: false }, 60_000);
    const both = await Promise.all([1, 2].map(() => signIns.take(request, state, 'corporate')));
    return both.map((each) => each?.state === state);
  };
  for (let count = 0; count < 20_000; count += 1) {
    // Else the front door and its clients would not hear of each other for seconds.
    if (count % 100 === 0) await setImmediate();
    await taken();
  }
  expect(await taken()).toEqual([true, false]);
});
