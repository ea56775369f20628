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
    // The defaults are refilled within a second, which a busy machine may need between two requests.
    frontDoor: `clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }
  limits: { sign_ins: { requests: 1, per: 1h, burst: 100 }, registrations: { requests: 1, per: 1h, burst: 50 } }`,
  }),
);

const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });

// test/front-door/admission.test.ts has the bounds.
test('sign-ins of one address are refused, and those of others begin and end', async () => {
  const client = await registerClient(world.issuer);
  const begin = (address: string, url: URL | string = client.authorizationUrl()): Promise<Response> =>
    fetch(url, { redirect: 'manual', headers: from(address) });
  await Promise.all(Array.from({ length: 120 }, () => begin('203.0.113.7', `${world.issuer}/authorize`)));
  const refused = await begin('203.0.113.7');
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
  expect(await refused.text()).toContain('front_door.limits.sign_ins');
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

test('registrations of one address are refused as an OAuth error', async () => {
  const all = Array.from({ length: 60 }, () => register(world.issuer, { redirect_uris: [] }, from('203.0.113.8')));
  expect((await Promise.all(all)).filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(8);
  const refused = await register(world.issuer, {}, from('203.0.113.8'));
  expect(refused).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } });
  expect(refused.body['error_description']).toContain('front_door.limits.registrations');
  const logged = 'log warn front door limit exceeded front_door.limits.registrations 203.0.113.8';
  expect(world.observed.filter((line) => line === logged)).toHaveLength(1);
  expect((await register(world.issuer, {}, from('2001:db8:8::1'))).status).toBe(201);
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
  const begin = async () => (await signIns.begin({ ...about, mustBeNew: false }, 60_000)).state;
  const take = async (state: string) => (await signIns.take(request, state, 'corporate'))?.state;
  for (let count = 0; count < 20_000; count += 1) {
    // Else the front door and its clients would not hear of each other for seconds.
    if (count % 100 === 0) await setImmediate();
    await take(await begin());
  }
  const state = await begin();
  expect(await Promise.all([take(state), take(state)])).toEqual([state, undefined]);
});
