import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StoreSettings } from '../../../src/ports/store.ts';
import { createShared } from '../../../src/serve/shared.ts';
import { hasRedis, type Redis } from '../../support/redis.ts';
import { closeOpened, KEY, listener, redisWith, replicaAt } from './opened.ts';

describe.skipIf(!hasRedis)('a value for single use', () => {
  let redis: Redis;
  beforeEach(async () => {
    redis = await redisWith();
  });
  afterEach(closeOpened);

  async function replica(onFailure: StoreSettings['onFailure'] = 'closed') {
    const told = listener();
    const shared = await replicaAt(redis.url, told, { onFailure });
    const firstSeen = async (key: string): Promise<boolean> =>
      shared.replay.firstSeen(key, Date.now() + 60_000, 'alice');
    return { shared, told, firstSeen };
  }

  test('is accepted by one replica only, and stored unreadably', async () => {
    const [one, other] = [await replica(), await replica()];
    expect(await one.firstSeen('jti-of-alice')).toBe(true);
    expect(await other.firstSeen('jti-of-alice')).toBe(false);
    expect(await one.firstSeen('jti-of-alice')).toBe(false);
    expect(await other.firstSeen('another')).toBe(true);
    const keys = [...(await redis.everything()).keys()].filter((key) => key.includes(':replay:'));
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(key).toMatch(/^sallyport:v1:replay:[\w-]{43}$/);
      expect(await redis.client.pTTL(key)).toBeGreaterThan(55_000);
    }
  });

  test('is accepted once by replicas that are asked in parallel', async () => {
    const all = [await replica(), await replica(), await replica()];
    const asked = Array.from({ length: 10 }, () => all.map(({ firstSeen }) => firstSeen('jti'))).flat();
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
  });

  test('is refused while the store is unavailable if the cache fails closed, and accepted afterwards', async () => {
    const one = await replica('closed');
    await redis.kill();
    await one.told.until(false);
    await expect(one.firstSeen('jti')).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
    await redis.restart();
    await one.told.until(true);
    expect(await one.firstSeen('jti')).toBe(true);
    expect(await one.firstSeen('jti')).toBe(false);
  });

  test('is checked in the memory of each replica while the store is unavailable if the cache fails open', async () => {
    const [one, other] = [await replica('open'), await replica('open')];
    expect(await one.firstSeen('before')).toBe(true);
    await redis.kill();
    await Promise.all([one.told.until(false), other.told.until(false)]);
    expect(await one.firstSeen('before')).toBe(false);
    expect(await one.firstSeen('meanwhile')).toBe(true);
    expect(await one.firstSeen('meanwhile')).toBe(false);
    // What `open` costs.
    expect(await other.firstSeen('before')).toBe(true);
  });

  test('is refused again by the same replica after the store lost its data', async () => {
    const one = await replica('closed');
    expect(await one.firstSeen('jti')).toBe(true);
    await redis.kill();
    await redis.restart();
    await one.told.until(true);
    expect(await one.firstSeen('jti')).toBe(false);
  });

  test('is remembered in the process, with and without a store', async () => {
    const { observer, log } = listener();
    const shared = createShared(observer, log, Date.now);
    (await shared.prepare(undefined, undefined)).use();
    expect(shared.replay.firstSeen('jti', Date.now() + 60_000, 'alice')).toBe(true);
    expect(shared.replay.firstSeen('jti', Date.now() + 60_000, 'alice')).toBe(false);
    (await shared.prepare({ url: redis.url, onFailure: 'open' }, KEY)).use();
    expect(await shared.replay.firstSeen('jti', Date.now() + 60_000, 'alice')).toBe(false);
    await shared.close();
  });
});
