import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMemoryLedger } from '../../src/store/memory-ledger.ts';
import type { RateLimiter, RateLimiters } from '../../src/model/shared.ts';
import type { Rate } from '../../src/model/route.ts';
import { createShared, type Prepared, type Shared } from '../../src/store/store.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { KEY } from './opened.ts';

const hourly = (requests: number, burst = requests): Rate => ({ requests, perMs: 3_600_000, burst });

/** How many are there at once. */
async function drain(limiter: RateLimiter, key = 'k'): Promise<number> {
  let taken = 0;
  while ((await limiter.take(key)) === 0) taken += 1;
  return taken;
}

test('answers synchronously without a store', () => {
  const alone = createShared({ storeUp() {}, storeRequest() {} }, () => {}, Date.now, {
    ledger: createMemoryLedger(Date.now),
  }).prepare(undefined, undefined);
  const limiter = alone.limiters('requests', hourly(1));
  expect(limiter.take('k')).toBe(0);
  expect(limiter.take('k')).toBeGreaterThan(3_599_000);
  expect(alone.limiters('failures', hourly(1)).take('k')).toBe(0);
});

// A store that answers late, as on a busy machine, counts as away; then each replica counts alone.
describe.skipIf(!hasRedis)('with a store', { retry: 2 }, () => {
  const redis = startBeforeAll(startRedis);
  let replicas: (Shared & Pick<Prepared, 'limiters'>)[];
  let up: number;
  let asked: string[];
  beforeEach(async () => {
    await redis.client.flushAll();
    asked = [];
    up = 0;
    replicas = [replica(), replica()];
    await vi.waitUntil(() => up === 2, { timeout: 20_000 });
  });
  afterEach(async () => {
    await Promise.all(replicas.map((each) => each.close()));
  });

  function replica(): (typeof replicas)[number] {
    const observer = {
      storeUp: (is: boolean | undefined) => void (up += is === true ? 1 : 0),
      storeRequest: (operation: string, result: string) => void asked.push(`${operation} ${result}`),
    };
    const shared = createShared(observer, () => {}, Date.now, { ledger: createMemoryLedger(Date.now) });
    const { use, limiters } = shared.prepare({ url: redis.url, onFailure: 'closed' }, KEY);
    use();
    return { ...shared, limiters };
  }
  const limitersOf = (index: number): RateLimiters => (replicas[index] as (typeof replicas)[number]).limiters;

  test('all replicas together allow exactly the burst', async () => {
    const both = [0, 1].map((index) => limitersOf(index)('requests', hourly(100, 50)));
    const answers = await Promise.all(Array.from({ length: 200 }, async (_, time) => both[time % 2]?.take('k')));
    expect(answers.filter((waitMs) => waitMs === 0)).toHaveLength(50);
    expect(Math.min(...answers.filter((waitMs) => waitMs !== 0).map(Number))).toBeGreaterThan(35_000);
    expect(new Set(asked)).toEqual(new Set(['rate ok']));
  });

  test('counts each key, and requests and failures, separately', async () => {
    const requests = limitersOf(0)('requests', hourly(3));
    expect([await drain(requests, 'a'), await drain(requests, 'b')]).toEqual([3, 3]);
    expect(await drain(limitersOf(1)('failures', hourly(2)), 'a')).toBe(2);
    expect(await drain(limitersOf(1)('requests', hourly(3)), 'a')).toBe(0);
  });

  test('refills evenly by the clock of the store', async () => {
    const limiter = limitersOf(0)('requests', { requests: 10, perMs: 1000, burst: 3 });
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
    const limiter = limitersOf(0)('requests', { requests: 1, perMs: 300, burst: 1 });
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
    expect(await drain(limitersOf(0)('requests', rate))).toBe(rate.burst);
  });

  test('shares what is given back with all replicas', async () => {
    const [one, other] = [limitersOf(0)('failures', hourly(3)), limitersOf(1)('failures', hourly(3))];
    expect(await drain(one)).toBe(3);
    one.give('k');
    one.give('k');
    await expect.poll(() => asked.length).toBe(6);
    expect(await drain(other)).toBe(2);
    for (let times = 0; times < 10; times += 1) one.give('k');
    await expect.poll(() => asked.length).toBe(19);
    expect(await drain(other)).toBe(3);
  });

  test('stores no names, and drops full buckets', async () => {
    await limitersOf(0)('requests', { requests: 10, perMs: 1000, burst: 5 }).take('alice');
    const [[key, value]] = [...(await redis.everything())].filter(([name]) => name.includes(':rate:')) as [
      [string, string],
    ];
    expect(key).toMatch(/^sallyport:v1:rate:requests:[\w-]{43}$/);
    expect(value).toMatch(/^1\.0{9} \d+\.\d{3}$/);
    expect(await redis.client.pTTL(key)).toBeLessThanOrEqual(100);
  });

  test('treats foreign values as an unavailable store', async () => {
    const limiter = limitersOf(0)('requests', hourly(2));
    await limiter.take('k');
    for (const key of (await redis.everything()).keys()) await redis.client.set(key, 'nonsense');
    expect(await drain(limiter)).toBe(2);
  });

  test('limits in each replica while the store is unavailable, and together afterwards', async () => {
    const both = [0, 1].map((index) => limitersOf(index)('requests', hourly(5))) as [RateLimiter, RateLimiter];
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
    expect(asked.filter((each) => each === 'rate away')).toEqual([]);
    await redis.restart();
    await expect.poll(() => up).toBe(4);
    expect((await drain(both[0])) + (await drain(both[1]))).toBe(5);
  });

  test('delays one request, not every one, if the store hangs', async () => {
    const limiter = limitersOf(0)('requests', hourly(5));
    redis.pause();
    expect(await drain(limiter)).toBe(5);
    expect(asked.filter((each) => each === 'rate error')).toHaveLength(1);
    redis.resume();
  });
});
