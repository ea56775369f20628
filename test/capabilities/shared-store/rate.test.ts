import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RateLimiter } from '../../../src/core/model/rate-limiter.ts';
import type { Rate } from '../../../src/core/model/endpoint.ts';
import { createShared, type Prepared } from '../../../src/serve/shared.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { closeOpened, KEY, listener, replicaAt, type Told } from './opened.ts';

const hourly = (requests: number, burst = requests): Rate => ({ requests, perMs: 3_600_000, burst });

/** How many are there at once. */
async function drain(limiter: RateLimiter, key = 'k'): Promise<number> {
  let taken = 0;
  while ((await limiter.take(key)) === 0) taken += 1;
  return taken;
}

test('answers synchronously without a store', async () => {
  const alone = await createShared({ storeUp() {}, storeRequest() {} }, () => {}, Date.now).prepare(
    undefined,
    undefined,
  );
  const limiter = alone.limiters('requests', hourly(1));
  expect(limiter.take('k')).toBe(0);
  expect(limiter.take('k')).toBeGreaterThan(3_599_000);
  expect(alone.limiters('failures', hourly(1)).take('k')).toBe(0);
});

// A store that answers late, as on a busy machine, counts as away; then each replica counts alone.
describe.skipIf(!hasRedis)('with a store', { retry: 2 }, () => {
  const redis = startBeforeAll(startRedis);
  let told: readonly Told[];
  let one: Prepared['limiters'];
  let other: Prepared['limiters'];
  beforeEach(async () => {
    await redis.client.flushAll();
    told = [listener(), listener()];
    const replicas = await Promise.all(told.map((each) => replicaAt(redis.url, each)));
    const settings = { url: redis.url, onFailure: 'closed' } as const;
    const prepared = await Promise.all(replicas.map(async (each) => each.prepare(settings, KEY)));
    [one, other] = prepared.map(({ limiters }) => limiters) as [typeof one, typeof one];
  });
  afterEach(closeOpened);
  const asked = (): readonly string[] => told.flatMap(({ requests }) => requests);

  test('all replicas together allow exactly the burst', async () => {
    const both = [one, other].map((limiters) => limiters('requests', hourly(100, 50)));
    const answers = await Promise.all(Array.from({ length: 200 }, async (_, time) => both[time % 2]?.take('k')));
    expect(answers.filter((waitMs) => waitMs === 0)).toHaveLength(50);
    expect(Math.min(...answers.filter((waitMs) => waitMs !== 0).map(Number))).toBeGreaterThan(35_000);
    expect(new Set(asked())).toEqual(new Set(['rate ok']));
  });

  test('counts each key, and requests and failures, separately', async () => {
    const requests = one('requests', hourly(3));
    expect([await drain(requests, 'a'), await drain(requests, 'b')]).toEqual([3, 3]);
    expect(await drain(other('failures', hourly(2)), 'a')).toBe(2);
    expect(await drain(other('requests', hourly(3)), 'a')).toBe(0);
  });

  test('refills evenly by the clock of the store', async () => {
    const limiter = one('requests', { requests: 10, perMs: 1000, burst: 3 });
    const passed: number[] = [];
    const begin = performance.now();
    while (performance.now() - begin < 1000)
      if ((await limiter.take('k')) === 0) passed.push(performance.now() - begin);
    expect(passed.length).toBeGreaterThanOrEqual(11);
    expect(passed.length).toBeLessThanOrEqual(13);
    expect(passed[2]).toBeLessThan(100);
    expect(passed[4]).toBeGreaterThan(150);
  });

  test('allows a call after the wait that it names, and not before', async () => {
    const limiter = one('requests', { requests: 1, perMs: 300, burst: 1 });
    expect(await limiter.take('k')).toBe(0);
    const waitMs = await limiter.take('k');
    expect(waitMs).toBeGreaterThan(200);
    expect(waitMs).toBeLessThanOrEqual(300);
    await new Promise((resolve) => setTimeout(resolve, waitMs - 100));
    expect(await limiter.take('k')).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 110));
    expect(await limiter.take('k')).toBe(0);
  });

  test.each<Rate>([
    { requests: 3, perMs: 3_600_000, burst: 7 },
    { requests: 1000, perMs: 86_400_000, burst: 1000 },
    { requests: 1, perMs: 86_400_000, burst: 1 },
  ])('allows exactly the burst: %o', async (rate) => {
    expect(await drain(one('requests', rate))).toBe(rate.burst);
  });

  test('shares what is given back with all replicas', async () => {
    const [giver, taker] = [one('failures', hourly(3)), other('failures', hourly(3))];
    expect(await drain(giver)).toBe(3);
    giver.give('k');
    giver.give('k');
    await expect.poll(() => asked().length).toBe(6);
    expect(await drain(taker)).toBe(2);
    for (let times = 0; times < 10; times += 1) giver.give('k');
    await expect.poll(() => asked().length).toBe(19);
    expect(await drain(taker)).toBe(3);
  });

  test('stores no names, and drops full buckets', async () => {
    await one('requests', { requests: 10, perMs: 1000, burst: 5 }).take('alice');
    const [[key, value]] = [...(await redis.everything())].filter(([name]) => name.includes(':rate:')) as [
      [string, string],
    ];
    expect(key).toMatch(/^sallyport:v1:rate:requests:[\w-]{43}$/);
    expect(value).toMatch(/^1\.0{9} \d+\.\d{3}$/);
    expect(await redis.client.pTTL(key)).toBeLessThanOrEqual(100);
  });

  test('treats foreign values as an unavailable store', async () => {
    const limiter = one('requests', hourly(2));
    await limiter.take('k');
    for (const key of (await redis.everything()).keys()) await redis.client.set(key, 'nonsense');
    expect(await drain(limiter)).toBe(2);
  });

  test('limits in each replica while the store is unavailable, and together afterwards', async () => {
    const both = [one('requests', hourly(5)), other('requests', hourly(5))] as const;
    expect(await drain(both[0])).toBe(5);
    await redis.kill();
    expect(await drain(both[0])).toBe(5);
    expect(await drain(both[1])).toBe(5);
    const begin = performance.now();
    for (let time = 0; time < 1000; time += 1) await both[0].take('k');
    // Each that asked a store that hangs would wait a quarter of a second.
    expect(performance.now() - begin).toBeLessThan(20_000);
    both[0].give('k');
    // A store that is known to be away is not asked.
    expect(asked().filter((each) => each === 'rate away')).toEqual([]);
    await redis.restart();
    await Promise.all(told.map((each) => each.until(true)));
    expect((await drain(both[0])) + (await drain(both[1]))).toBe(5);
  });

  test('delays one request, not every one, if the store hangs', async () => {
    const limiter = one('requests', hourly(5));
    redis.pause();
    expect(await drain(limiter)).toBe(5);
    expect(asked().filter((each) => each === 'rate error')).toHaveLength(1);
    redis.resume();
  });
});
