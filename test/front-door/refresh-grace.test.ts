/** A used refresh token that is presented again within `clients.refresh.grace`. */
import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/capabilities/all.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { createProver } from '../support/prover.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { KEY } from '../capabilities/shared-store/opened.ts';
import { type FrontDoorWorldOptions, startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, registerClient } from '../worlds/oauth-client.ts';

const metadata = { grant_types: ['authorization_code', 'refresh_token'] };
const refused = { status: 400, body: { error: 'invalid_grant' } };
let ahead = 0;

const startWorld = (more: FrontDoorWorldOptions = {}) =>
  startFrontDoorWorld({
    frontDoor: 'clients: { refresh: { grace: 10s }, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }',
    policy: '{}',
    routeLines: '    dpop: {}',
    clock: () => Date.now() + ahead,
    ...more,
  });

describe('R-361: within the grace', () => {
  const world = startBeforeAll(() => startWorld());
  const register = () => registerClient(world.issuer, metadata);

  test('the same client gets a new access token, and the current refresh token', async () => {
    const client = await register();
    const { body: first } = await client.token();
    const { body: second } = await client.refresh(first['refresh_token']);
    const again = await client.refresh(first['refresh_token']);
    expect(again).toMatchObject({ status: 200, body: { refresh_token: second['refresh_token'] } });
    expect(again.body['access_token']).not.toBe(second['access_token']);
    expect(await world.listTools(again.body['access_token'])).toBe(200);

    const { body: third } = await client.refresh(second['refresh_token']);
    expect(third['refresh_token']).not.toBe(second['refresh_token']);
    // Earlier ones within theirs as well.
    for (const used of [first, second])
      expect(await client.refresh(used['refresh_token'])).toMatchObject({
        status: 200,
        body: { refresh_token: third['refresh_token'] },
      });
    expect(await client.refresh(third['refresh_token'])).toMatchObject({ status: 200 });
  });

  test('requests at the same time leave one chain', async () => {
    const client = await register();
    const { body } = await client.token();
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.refresh(body['refresh_token'])));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const [next, ...others] = new Set(answers.map((answer) => answer.body['refresh_token']));
    expect(others).toEqual([]);
    expect(await client.refresh(next)).toMatchObject({ status: 200 });
  });

  test('another client gets nothing, and ends the grant', async () => {
    const [client, thief] = [await register(), await register()];
    const { body } = await client.token();
    const next = await client.refresh(body['refresh_token']);
    expect(await thief.refresh(body['refresh_token'])).toMatchObject(refused);
    expect(world.observed.at(-2)).toMatch(new RegExp(`^grant ended refresh_token.reused ${client.id} `));
    expect(await client.refresh(next.body['refresh_token'])).toMatchObject(refused);
    expect(await world.listTools(next.body['access_token'])).toBe(401);
  });

  test.for(['another key', 'no key'])('%s gets nothing, and ends the grant', async (which) => {
    const [owner, thief] = [await createProver(), await createProver()];
    const client = await register();
    const post = async (form: Record<string, string>, prover = owner) =>
      client.post(form, '/token', { dpop: await prover.proof({ url: `${world.issuer}/token`, method: 'POST' }) });
    const form = (token: unknown) => ({ grant_type: 'refresh_token', refresh_token: String(token) });
    const { body } = await post(await client.code());
    const next = await post(form(body['refresh_token']));
    expect(await post(form(body['refresh_token']))).toMatchObject({
      status: 200,
      body: { token_type: 'DPoP', refresh_token: next.body['refresh_token'] },
    });
    const used = form(body['refresh_token']);
    expect(which === 'no key' ? await client.post(used) : await post(used, thief)).toMatchObject(refused);
    expect(await post(form(next.body['refresh_token']))).toMatchObject(refused);
  });

  test('a wrong resource ends nothing', async () => {
    const client = await register();
    const { body } = await client.token();
    await client.refresh(body['refresh_token']);
    const wrong = await client.refresh(body['refresh_token'], { resource: 'https://elsewhere.example/mcp' });
    expect(wrong).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    expect(await client.refresh(body['refresh_token'])).toMatchObject({ status: 200 });
  });

  test('a revoked token is not current any more', async () => {
    const client = await register();
    const { body } = await client.token();
    const next = await client.refresh(body['refresh_token']);
    await client.post({ token: String(next.body['refresh_token']) }, '/revoke');
    expect(await client.refresh(body['refresh_token'])).toMatchObject(refused);
  });
});

test('after the grace, a used token ends its grant', async () => {
  const world = await forThisTest(startWorld());
  const client = await registerClient(world.issuer, metadata);
  const { body } = await client.token();
  const next = await client.refresh(body['refresh_token']);
  try {
    ahead = 10_001;
    expect(await client.refresh(body['refresh_token'])).toMatchObject(refused);
    expect(world.observed.at(-2)).toMatch(/^grant ended refresh_token.reused /);
    expect(await client.refresh(next.body['refresh_token'])).toMatchObject(refused);
  } finally {
    ahead = 0;
  }
});

describe.runIf(hasRedis)('over replicas', () => {
  const redis = startBeforeAll(startRedis);

  test('a used token gets the current one of another replica, and the store has none of them', async () => {
    const world = await forThisTest(startWorld({ top: `shared: ${redis.url}\nsession_key: ${KEY}` }));
    const other = await forThisTest(
      startFrontDoor(world.configWith({ listen: { host: '127.0.0.1', port: 0 } }), {
        observer: { signIn() {}, consent() {}, token() {}, registration() {}, grantEnded() {} },
        onRevoked() {},
        onBug(error) {
          throw error;
        },
        log() {},
        openStore,
      }),
    );
    const client = await registerClient(world.issuer, metadata);
    const there = oauthClient(other.url, client.id);
    const { body } = await client.token();
    const answers = await Promise.all(
      [client, there, client, there].map((each) => each.refresh(body['refresh_token'])),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const [next, ...more] = new Set(answers.map((answer) => String(answer.body['refresh_token'])));
    expect(more).toEqual([]);
    expect([...(await redis.everything())].flat().join('\n')).not.toContain(next);
    expect(await there.refresh(next)).toMatchObject({ status: 200 });
  });
});
