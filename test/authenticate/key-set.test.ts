import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../../src/model/authorization-server.ts';
import type { Denial } from '../../src/model/denial.ts';
import { away, createKeyWorld, issuer, one, two, type KeyWorld } from '../worlds/keys.ts';

let world: KeyWorld;

beforeEach(() => {
  world = createKeyWorld();
});

describe('where they are', () => {
  test('as the configuration says, or else the metadata', async () => {
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

  test('nobody says', async () => {
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

describe('whose they are', () => {
  test.for<[of: unknown, isOurs: boolean]>([
    [issuer, true],
    ['https://as.example/{tenantid}', true],
    [undefined, true],
    [5, true],
    ['https://as.example/other', false],
    ['', false],
  ])('one of issuer %j is ours: %s', async ([of, isOurs]) => {
    world.publish([{ ...one, issuer: of }]);
    const found = world.find().then(
      () => true,
      (error: unknown) => (error as Denial).reason,
    );
    expect(await found).toBe(isOurs || 'token.key');
  });
});

describe('one that is not known', () => {
  test('is looked for again after five seconds, by all of those who look at once', async () => {
    await world.find();
    world.publish([one, two]);
    world.now += 4_999;
    await expect(world.find('k2')).rejects.toMatchObject({ reason: 'token.key', cause: expect.any(Error) as unknown });
    expect(world.asked).toHaveLength(1);
    world.now += 1;
    await Promise.all([world.find('k2'), world.find('k2'), world.find('k2')]);
    expect(world.asked).toHaveLength(2);
  });

  test('also by one who comes while it is looked for', async () => {
    await world.find();
    world.publish([one, two]);
    world.now += 5_000;
    const first = world.find('k2');
    await setImmediate();
    await Promise.all([first, world.find('k2')]);
    expect(world.asked).toHaveLength(2);
  });

  test('may be of another algorithm', async () => {
    await expect(world.find('k1', 'ES384')).rejects.toMatchObject({ reason: 'token.key' });
    await expect(world.find('k1', 'HS256')).rejects.toBeInstanceOf(Error);
  });

  test('is no verdict where nobody could be asked whether it is there', async () => {
    await world.find();
    world.goAway();
    world.now += 5_000;
    await expect(world.find('k2')).rejects.toMatchObject(away);
    await expect(world.find('k2'), 'nor a moment later').rejects.toMatchObject(away);
    expect(world.asked).toHaveLength(2);
    world.publish([one]);
    world.now += 5_000;
    await expect(world.find('k2')).rejects.toMatchObject({ reason: 'token.key' });
    await expect(world.find('k2'), 'which holds for a while').rejects.toMatchObject({ reason: 'token.key' });
    expect(world.asked).toHaveLength(3);
  });
});

describe('one that could be any of several', () => {
  const several = { code: 'ERR_JWKS_MULTIPLE_MATCHING_KEYS' };

  test('is not looked for again: it is there', async () => {
    world.publish([one, two]);
    await world.find();
    world.now += 5_000;
    await expect(world.find(null)).rejects.toMatchObject(several);
    expect(world.asked).toHaveLength(1);
  });

  test('is none of the unknown ones once it is found', async () => {
    world.publish([]);
    await expect(world.find(null)).rejects.toMatchObject({ reason: 'token.key' });
    world.publish([one, two]);
    world.now += 5_000;
    await expect(world.find(null)).rejects.toMatchObject(several);
  });
});

describe('with none at all', () => {
  test('a failure holds for half a second', async () => {
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

  test('all wait for the first attempt; for the next one, one of them', async () => {
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
