import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../../../src/model/authorization-server.ts';
import type { Denial } from '../../../src/model/denial.ts';
import { away, createKeyWorld, issuer, one, two, type KeyWorld } from '../../worlds/keys.ts';

let world: KeyWorld;

beforeEach(() => {
  world = createKeyWorld();
});

describe('the location of the keys', () => {
  test('is the configured one, or else that of the metadata', async () => {
    const metadata = 'https://as.example/elsewhere';
    for (const [settings, found] of [
      [{ metadata }, `jwks ${issuer}/jwks?key=secret`],
      [{ configured: null, metadata }, `jwks ${metadata}`],
    ] as const) {
      world = createKeyWorld(settings);
      await world.find();
      expect(world.asked).toEqual([found]);
    }
  });

  test('is unknown without either: an outage', async () => {
    world = createKeyWorld({ configured: null });
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
      cause: expect.any(Error) as unknown,
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
  world = createKeyWorld({ staleMs: 24 * 3_600_000 });
  await world.find();
  world.published = answer;
  for (let count = 1; count <= 3; count += 1) {
    world.now += 600_000 * count;
    await expect(world.find()).resolves.toBeDefined();
  }
});

describe('the issuer of a key in a shared set', () => {
  test.for<[of: unknown, isOurs: boolean]>([
    [issuer, true],
    ['https://as.example/{tenantid}', true],
    [undefined, true],
    [5, true],
    ['https://as.example/other', false],
    ['', false],
  ])('%j belongs to this server: %s', async ([of, isOurs]) => {
    world.publish([{ ...one, issuer: of }]);
    const found = world.find().then(
      () => true,
      (error: unknown) => (error as Denial).reason,
    );
    expect(await found).toBe(isOurs || 'token.key');
  });
});

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
