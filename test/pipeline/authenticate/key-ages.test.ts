import { beforeEach, describe, expect, test } from 'vitest';
import { away, createKeyWorld, one, two, type KeyWorld } from '../../worlds/keys.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: KeyWorld;

beforeEach(() => {
  world = createKeyWorld();
});

describe('how old they may be', () => {
  test.for<[of: string, maxAgeMs: number | undefined, freshMs: number]>([
    ['five minutes where the server does not say', undefined, 5 * MINUTE],
    ['as it says', 2 * MINUTE, 2 * MINUTE],
    ['a minute at least', 0, MINUTE],
    ['an hour at most', 24 * HOUR, HOUR],
  ])('%s', async ([, maxAgeMs, freshMs]) => {
    world.publish([one], maxAgeMs);
    await world.find();
    world.now += 0.9 * freshMs;
    await world.find();
    expect(await world.fetches(), 'young').toBe(1);
    world.now += 1;
    await world.find();
    expect(world.asked, 'asked for behind the request').toHaveLength(2);
    expect(await world.fetches()).toBe(2);
    world.now += 0.9 * freshMs;
    await world.find();
    expect(await world.fetches(), 'young again').toBe(2);
    world.now += 0.1 * freshMs + 1;
    world.publish([two], maxAgeMs);
    await expect(world.find(), 'the request itself waits').rejects.toMatchObject({ reason: 'token.key' });
  });

  test.for<[random: number, share: number]>([
    [0, 1],
    [1, 0.8],
  ])('replicas renew them at different times: %d', async ([random, share]) => {
    world = createKeyWorld({ random });
    await world.find();
    world.now += share * 5 * MINUTE;
    await world.find();
    expect(await world.fetches()).toBe(1);
    world.now += 1;
    await world.find();
    expect(await world.fetches()).toBe(2);
  });

  test('an unavailable server is asked once in five seconds in the background', async () => {
    await world.find();
    world.goAway();
    world.now += 4.6 * MINUTE;
    for (const [ms, count] of [
      [0, 2],
      [5_000, 2],
      [1, 3],
    ] as const) {
      world.now += ms;
      await world.find();
      expect(await world.fetches()).toBe(count);
      expect(world.keys.holds(0)).toBe(true);
    }
  });

  test.for<[staleMs: number, usableMs: number]>([
    [HOUR, HOUR],
    [0, 5 * MINUTE],
  ])('while it is away, stale: %d', async ([staleMs, usableMs]) => {
    world = createKeyWorld({ staleMs });
    await world.find();
    world.goAway();
    world.now += usableMs;
    await world.find();
    expect(await world.fetches()).toBe(2);
    expect(world.keys.holds(0)).toBe(true);
    world.now += 1;
    expect(world.keys.holds(0)).toBe(false);
    await expect(world.find()).rejects.toMatchObject(away);
  });
});

test('stale keys are not used while the server is available', async () => {
  world = createKeyWorld({ staleMs: HOUR });
  await world.find();
  world.publish([two]);
  world.now += 5 * MINUTE;
  await world.find();
  world = createKeyWorld({ staleMs: HOUR });
  await world.find();
  world.publish([two]);
  world.now += 5 * MINUTE + 1;
  expect(world.keys.holds(0)).toBe(false);
  await expect(world.find()).rejects.toMatchObject({ reason: 'token.key' });
});

describe('a verification with them', () => {
  test('is valid while they are fresh, and its use refreshes them', async () => {
    expect(world.keys.holds(0), 'there are none').toBe(false);
    await world.find();
    world.now += 4.5 * MINUTE;
    expect(world.keys.holds(0)).toBe(true);
    expect(await world.fetches()).toBe(1);
    world.now += 1;
    expect(world.keys.holds(0)).toBe(true);
    expect(await world.fetches()).toBe(2);
    world.now += 5 * MINUTE;
    expect(world.keys.holds(0)).toBe(true);
    await world.fetches();
    world.now += 5 * MINUTE + 1;
    expect(world.keys.holds(0)).toBe(false);
  });

  test('one of several is enough', async () => {
    world.publish([one, two]);
    await world.find();
    world.publish([two]);
    world.now += 5_000;
    await expect(world.find('k3')).rejects.toMatchObject({ reason: 'token.key' });
    expect([world.keys.generation, world.keys.holds(0)]).toEqual([1, false]);
  });

  test.for<[what: string, set: readonly object[], generation: number]>([
    ['the same', [one], 0],
    ['one more', [one, two], 0],
    ['its members in another order', [Object.fromEntries(Object.entries(one).toReversed())], 0],
    ['none', [], 1],
    ['another', [two], 1],
    ['another under its name', [{ ...two, kid: 'k1' }], 1],
    ['the same for another use', [{ ...one, use: 'enc' }], 1],
  ])('and no longer than none of them is withdrawn: then there is %s', async ([, set, generation]) => {
    await world.find();
    world.publish(set);
    world.now += 5_000;
    await world.find('k3').catch(() => {});
    expect([world.keys.generation, world.keys.holds(0), world.keys.holds(1)]).toEqual([
      generation,
      generation === 0,
      generation === 1,
    ]);
  });
});

describe('their state', () => {
  const at = (ms: number): string => new Date(1_800_000_000_000 + ms).toISOString();
  const fetchWith = async (set: readonly object[]): Promise<unknown> => {
    world.publish(set);
    world.now += 5_000;
    await world.find('k3').catch(() => {});
    return world.keys.state();
  };

  test('R-170: has their number, when they were fetched, and when the newest was first seen', async () => {
    expect(world.keys.state()).toBeUndefined();
    expect(await fetchWith([one])).toEqual({ count: 1, fetched: at(5_000), newest: at(5_000) });
    expect(await fetchWith([one])).toEqual({ count: 1, fetched: at(10_000), newest: at(5_000) });
    expect(await fetchWith([two, one])).toEqual({ count: 2, fetched: at(15_000), newest: at(15_000) });
    expect(await fetchWith([two])).toEqual({ count: 1, fetched: at(20_000), newest: at(15_000) });
    expect(await fetchWith([])).toEqual({ count: 0, fetched: at(25_000), newest: at(15_000) });
  });

  test('stays that of the last fetch while the server is away', async () => {
    await world.find();
    world.goAway();
    world.now += MINUTE;
    await world.find('k3').catch(() => {});
    expect(world.keys.state()).toEqual({ count: 1, fetched: at(0), newest: at(0) });
  });
});
