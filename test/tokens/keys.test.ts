import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../../src/ports/authorization-server-client.ts';
import type { Denial } from '../../src/core/model/denial.ts';
import { away, issuer, KeyWorld, one, two } from '../worlds/keys.ts';

let world: KeyWorld;

beforeEach(() => {
  world = new KeyWorld();
});

describe('the location of the keys', () => {
  test('is the configured one, or else that of the metadata', async () => {
    const metadata = 'https://as.example/elsewhere';
    for (const [settings, found] of [
      [{ metadata }, `jwks ${issuer}/jwks?key=secret`],
      [{ configured: null, metadata }, `jwks ${metadata}`],
    ] as const) {
      world = new KeyWorld(settings);
      await world.find();
      expect(world.asked).toEqual([found]);
    }
  });

  test('is unknown without either: an outage', async () => {
    world = new KeyWorld({ configured: null });
    await expect(world.find()).rejects.toMatchObject({
      ...away,
      detail: expect.stringMatching(/^main: its metadata has no jwks_uri/) as string,
    });
  });

  test.for<Partial<ServerAnswer>>([
    { status: 404, body: { keys: [one] } },
    { status: 201, body: { keys: [one] } },
    { status: 200, body: undefined },
    { status: 200, body: {} },
    { status: 200, body: { keys: 'k1' } },
    { status: 200, body: [one] },
  ])('nowhere: %j', async (answer) => {
    world.published = answer;
    await expect(world.find()).rejects.toMatchObject({
      ...away,
      detail: `main: ${issuer}/jwks?… (${answer.status}) is not a JWK Set`,
    });
  });
});

test.for<Partial<ServerAnswer>>([
  { status: 404, body: { keys: [] } },
  { status: 200, body: undefined },
  { status: 200, body: {} },
  { status: 200, body: [] },
  { status: 200, body: { keys: [1] } },
])('%j never replaces the keys', async (answer) => {
  world = new KeyWorld({ staleMs: 24 * 3_600_000 });
  await world.find();
  world.published = answer;
  for (let count = 1; count <= 3; count += 1) {
    world.now += 600_000 * count;
    await expect(world.find()).resolves.toBeDefined();
  }
});

test.for<[of: unknown, isOurs: boolean]>([
  [issuer, true],
  ['https://as.example/{tenantid}', true],
  [undefined, true],
  [5, true],
  ['https://as.example/other', false],
  ['', false],
])('the issuer of a key in a shared set: %j belongs to this server: %s', async ([of, isOurs]) => {
  world.publish([{ ...one, issuer: of }]);
  const found = world.find().then(
    () => true,
    (error: unknown) => (error as Denial).reason,
  );
  expect(await found).toBe(isOurs || 'token.key');
});

test.for<unknown>([null, 1, 'k1', [one], { kty: 'RSA', n: 1 }, { kid: 'k1' }])(
  '%j among the keys costs only itself',
  async (strange) => {
    world.publish([strange as object, one]);
    await expect(world.find()).resolves.toBeDefined();
    expect(world.asked).toHaveLength(1);
  },
);

describe('an unknown key', () => {
  test('is fetched again after five seconds, once for parallel requests', async () => {
    await world.find();
    world.publish([one, two]);
    world.now += 4_999;
    await expect(world.find('k2')).rejects.toMatchObject({ reason: 'token.key', cause: expect.any(Error) as unknown });
    expect(world.asked).toHaveLength(1);
    world.now += 1;
    await Promise.all([world.find('k2'), world.find('k2'), world.find('k2')]);
    expect(world.asked).toHaveLength(2);
  });

  test('is fetched once, also for a request that comes during the fetch', async () => {
    await world.find();
    world.publish([one, two]);
    world.now += 5_000;
    const first = world.find('k2');
    await setImmediate();
    await Promise.all([first, world.find('k2')]);
    expect(world.asked).toHaveLength(2);
  });

  test('is refused with another algorithm', async () => {
    const detail = 'no published key for kid "k1" and alg "ES384"';
    await expect(world.find('k1', 'ES384')).rejects.toMatchObject({ reason: 'token.key', detail });
    await expect(world.find('k1', 'HS256')).rejects.toBeInstanceOf(Error);
  });

  test('that is malformed is refused, with a cause for the operator', async () => {
    world.publish([{ ...one, x: 'AA' }]);
    const detail = 'the published key for kid "k1" and alg "ES256" is malformed';
    const cause = expect.any(Error) as unknown;
    await expect(world.find()).rejects.toMatchObject({ reason: 'token.key', detail, cause });
  });

  test('is an outage while the server is unavailable', async () => {
    await world.find();
    world.goAway();
    world.now += 5_000;
    await expect(world.find('k2')).rejects.toMatchObject(away);
    await expect(world.find('k2'), 'nor a moment later').rejects.toMatchObject(away);
    expect(world.asked).toHaveLength(2);
    world.publish([one]);
    world.now += 5_000;
    await expect(world.find('k2')).rejects.toMatchObject({ reason: 'token.key' });
    await expect(world.find('k2'), 'until the next window').rejects.toMatchObject({ reason: 'token.key' });
    expect(world.asked).toHaveLength(3);
  });
});

describe('a token that several keys fit', () => {
  const several = { code: 'ERR_JWKS_MULTIPLE_MATCHING_KEYS' };

  test('fetches nothing again', async () => {
    world.publish([one, two]);
    await world.find();
    world.now += 5_000;
    await expect(world.find(null)).rejects.toMatchObject(several);
    expect(world.asked).toHaveLength(1);
  });

  test('does not count as unknown after a fetch', async () => {
    world.publish([]);
    await expect(world.find(null)).rejects.toMatchObject({ reason: 'token.key' });
    world.publish([one, two]);
    world.now += 5_000;
    await expect(world.find(null)).rejects.toMatchObject(several);
  });
});

describe('a key set in a file', () => {
  const flawed = { ...two, d: 'AA' };

  test('is used without a fetch', async () => {
    world = new KeyWorld({ keySet: { keys: [one, flawed] } });
    expect(await world.find()).toBeDefined();
    expect(world.keys.state()).toMatchObject({ count: 1 });
    expect(world.asked).toEqual([]);
  });

  test('is searched for flaws like any other', async () => {
    for (const isInFile of [true, false]) {
      world = new KeyWorld(isInFile ? { keySet: { keys: [one, flawed] } } : {});
      world.publish([one, flawed]);
      const detail = 'the published key for kid "k2" and alg "ES256" is published with its private part';
      await expect(world.find('k2')).rejects.toMatchObject({ reason: 'token.key', detail });
      const unknown = 'no published key for kid "k3" and alg "ES256"';
      await expect(world.find('k3')).rejects.toMatchObject({ reason: 'token.key', detail: unknown });
    }
  });
});

describe('a signature that no key verifies', () => {
  test.for<[what: string, laterMs: number, beganMs: number, fetches: number, isNewer: boolean]>([
    ['fetches keys that are older than its verification', 5_000, 5_000, 2, true],
    ['fetches nothing within five seconds after a fetch', 4_999, 4_999, 1, false],
    ['fetches nothing if that happened since its verification began', 5_000, 0, 1, true],
  ])('%s', async ([, laterMs, beganMs, fetches, isNewer]) => {
    await world.find();
    const began = world.now + beganMs;
    world.now += laterMs;
    expect(await world.keys.renew(began)).toBe(isNewer);
    expect(world.asked).toHaveLength(fetches);
  });

  test('stays refused while the server is unavailable', async () => {
    await world.find();
    world.now += 5_000;
    world.goAway();
    expect(await world.keys.renew(world.now)).toBe(false);
    expect(world.asked).toHaveLength(2);
  });
});

describe('without any keys', () => {
  test('a failed fetch is repeated after half a second', async () => {
    world.goAway();
    await expect(world.find()).rejects.toMatchObject(away);
    world.publish([one]);
    world.now += 499;
    await expect(world.find()).rejects.toMatchObject(away);
    expect(world.asked).toHaveLength(1);
    world.now += 1;
    await world.find();
    expect(world.asked).toHaveLength(2);
  });

  test('all requests wait for the first attempt, and one request for each later attempt', async () => {
    world.goAway();
    const first = [world.find(), world.find()];
    for (const each of first) await expect(each).rejects.toMatchObject(away);
    expect(world.asked).toHaveLength(1);
    world.publish([one]);
    world.now += 500;
    const waits = world.find();
    await expect(world.find()).rejects.toMatchObject(away);
    await waits;
    await world.find();
    expect(world.asked).toHaveLength(2);
  });
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

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
    world = new KeyWorld({ random });
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
    world = new KeyWorld({ staleMs });
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
  world = new KeyWorld({ staleMs: HOUR });
  await world.find();
  world.publish([two]);
  world.now += 5 * MINUTE;
  await world.find();
  world = new KeyWorld({ staleMs: HOUR });
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
