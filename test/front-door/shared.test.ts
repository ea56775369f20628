/** Two front doors with one store are one authorization server. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/front-door/store.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, registerClient } from '../worlds/oauth-client.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { closeOpened, frontDoorAt, hearingAt, KEY, listener } from '../capabilities/shared-store/opened.ts';

describe.runIf(hasRedis)('with a store', () => {
  const redis = startBeforeAll(startRedis);
  afterEach(closeOpened);
  const startWorld = () => forThisTest(startFrontDoorWorld({ top: `shared: ${redis.url}\nsession_key: ${KEY}` }));

  describe('the records', () => {
    let one: Store;
    let other: Store;
    let ahead = 0;
    beforeEach(async () => {
      ahead = 0;
      await redis.client.flushAll();
      const clock = (): number => Date.now() + ahead;
      [one, other] = [await frontDoorAt(redis.url, clock), await frontDoorAt(redis.url, clock)];
    });

    test('are sealed, and found by all replicas until they expire', async () => {
      await one.set({ kind: 'Visit', id: 'id', value: { secret: 'a secret text' }, expiresAt: Date.now() + 10_000 });
      expect(await other.get('Visit', 'id')).toEqual({ secret: 'a secret text' });
      expect(await other.get('Grant', 'id')).toBeUndefined();
      const texts = [...(await redis.everything())].flat().join('\n');
      expect(texts).not.toMatch(/secret|Visit:id/);
      await other.delete('Visit', 'id');
      expect(await one.get('Visit', 'id')).toBeUndefined();
    });

    test('are refused when their owner has too many, and none that lives is forgotten', async () => {
      const soon = Date.now() + 10_000;
      const begin = (at: Store, id: string, owner = 'jane', expiresAt = soon) =>
        at.set({ kind: 'SignIn', id, value: id, expiresAt, owner });
      for (let count = 0; count < 3; count += 1) await begin(one, `sign-in ${count}`, 'jane', soon + 20_000);
      await begin(other, 'ends sooner');
      const full = { error: 'temporarily_unavailable', status: 503 };
      await expect(begin(one, 'one more')).rejects.toMatchObject(full);
      expect([await one.get('SignIn', 'sign-in 0'), await one.get('SignIn', 'one more')]).toEqual([
        'sign-in 0',
        undefined,
      ]);
      // The same again, and that of another owner.
      await begin(one, 'sign-in 0', 'jane', soon + 20_000);
      await begin(one, 'of joe', 'joe');
      // Room again: by a use, and by time.
      await other.take('SignIn', 'sign-in 1');
      await begin(one, 'instead', 'jane', soon + 20_000);
      await expect(begin(one, 'one more')).rejects.toMatchObject(full);
      ahead = 10_001;
      await begin(one, 'later', 'jane', soon + 20_000);
    });

    test('leave the room of an owner with it, and a share of the room for requests at the same time', async () => {
      const end = Date.now() + 10_000;
      const add = (id: string, owner: string | undefined) =>
        one.set({ kind: 'SignIn', id, value: id, expiresAt: end, owner });
      for (const id of ['a', 'b', 'c']) await add(id, 'jane');
      expect(await other.hasRoom('SignIn', 'jane')).toBe(true);
      await add('d', 'jane');
      expect([await other.hasRoom('SignIn', 'jane'), await other.hasRoom('SignIn', 'joe')]).toEqual([false, true]);
      await add('a', undefined);
      await add('b', 'joe');
      expect(await other.hasRoom('SignIn', 'jane')).toBe(true);
      for (const id of ['e', 'f']) await add(id, 'jane');
      await expect(add('g', 'jane')).rejects.toMatchObject({ status: 503 });
    });

    test('R-281: of a set are counted while they live, and forgotten by the store afterwards', async () => {
      const [soon, end] = [Date.now() + 10_000, Date.now() + 60_000];
      for (const member of ['a', 'b']) await one.addMember('set', member, soon, 3);
      expect(await one.addMember('set', 'c', end, 3)).toBe(true);
      expect(await other.addMember('set', 'd', end, 3)).toBe(false);
      expect(await other.addMember('set', 'c', end, 3)).toBe(true);
      ahead = 10_001;
      expect(await other.addMember('set', 'd', end, 3)).toBe(true);
      const [key = ''] = await redis.client.keys('sallyport:v1:{front-door}:members*');
      expect(await redis.client.zRange(key, 0, -1)).toEqual(['c', 'd']);
      await one.removeMember('set', 'c');
      expect(await other.takeMembers('set')).toEqual(['d']);
      expect(await redis.client.exists(key)).toBe(0);
    });

    test('are used up by one of many', async () => {
      const end = Date.now() + 10_000;
      const uses = await Promise.all([one, other, one, other].map((store) => store.firstSeen('code', end, 'client')));
      expect(uses.filter(Boolean)).toHaveLength(1);
      await one.set({ kind: 'SignIn', id: 'id', value: 'a sign-in', expiresAt: end });
      const found = await Promise.all([one, other, one, other].map((store) => store.take('SignIn', 'id')));
      expect(found.filter((each) => each !== undefined)).toEqual(['a sign-in']);
      await Promise.all([one.addMember('set', 'a', end, 9), other.addMember('set', 'b', end, 9)]);
      const taken = await Promise.all([one.takeMembers('set'), other.takeMembers('set')]);
      expect(taken.flat().toSorted()).toEqual(['a', 'b']);
    });
  });

  test('works with exactly the permissions of docs/replicas.md', async () => {
    const page = await readFile(new URL('../../docs/replicas.md', import.meta.url), 'utf8');
    const rules = [...page.matchAll(/`([~&]sallyport:v1:[^`]+)`/g)].flatMap(([, rule = '']) => rule.split(' '));
    await redis.client.aclSetUser('front', ['on', '>secret', ...rules]);
    const [revoked, told] = [[] as string[], listener()];
    const url = `redis://front:secret@127.0.0.1:${redis.port}`;
    await hearingAt(url, revoked, told);
    const store = await frontDoorAt(url);
    const end = Date.now() + 10_000;
    await store.set({ kind: 'Grant', id: 'b', value: 1, expiresAt: end, owner: 'jane' });
    told.requests.length = 0;
    await store.set({ kind: 'Client', id: 'x', value: 1, expiresAt: end });
    await store.addMember('set', 'a', end, 9);
    await store.addMember('set', 'b', end, 9);
    await store.removeMember('set', 'b');
    expect(await store.takeMembers('set')).toEqual(['a']);
    expect(await store.take('Grant', 'b')).toBe(1);
    await store.delete('Client', 'x');
    expect([await store.get('Client', 'x'), await store.firstSeen('x', end, 'y')]).toEqual([undefined, true]);
    await store.publishRevoked(Array.from({ length: 1500 }, (_each, index) => `digest-${index}`));
    await until(() => revoked.length === 1500);
    expect(revoked.at(-1)).toBe('digest-1499');
    expect(told.requests.filter((request) => request.includes('error'))).toEqual([]);
  });

  test('a client registers at one replica, and its code is redeemed once over both', async () => {
    const [one, other] = [await startWorld(), await startWorld()];
    const client = await registerClient(one.issuer);
    const there = oauthClient(other.issuer, client.id);
    const form = { ...(await client.code()), resource: '' };
    const answers = await Promise.all([client, there, client, there].map((each) => each.post(form)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
  });

  test('answers 503 while the store is away, and reports no bug', async () => {
    const world = await startWorld();
    const client = await registerClient(world.issuer);
    await redis.kill();
    await expect.poll(async () => (await client.refresh('a')).status).toBe(503);
    const post = (path: string, body: string | URLSearchParams, headers = {}): Promise<Response> =>
      fetch(world.issuer + path, { method: 'POST', headers, body });
    const registration = { redirect_uris: [client.redirectUri], token_endpoint_auth_method: 'none' };
    const answers = await Promise.all([
      fetch(client.authorizationUrl(), { redirect: 'manual' }),
      post('/register', JSON.stringify(registration), { 'content-type': 'application/json' }),
      post('/token', new URLSearchParams({ client_id: client.id, grant_type: 'refresh_token', refresh_token: 'a' })),
    ]);
    await redis.restart();
    for (const { status, headers } of answers) expect([status, headers.get('retry-after')]).toEqual([503, '10']);
  });
});
