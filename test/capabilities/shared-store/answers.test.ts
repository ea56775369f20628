import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createShared, type Shared } from '../../../src/serve/shared.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { closeOpened, KEY, listener, replicaAt, type Told } from './opened.ts';

describe.skipIf(!hasRedis)('answers', () => {
  const redis = startBeforeAll(startRedis);
  let now: number;
  /** Of the first replica. */
  let told: Told;
  beforeEach(async () => {
    now = Date.now();
    told = listener();
    await redis.client.flushAll();
  });
  afterEach(closeOpened);

  const replica = (key = KEY, by = told): Promise<Shared> => replicaAt(redis.url, by, { key, clock: () => now });

  /** Until what was asked behind a request has come there: the commands of one connection keep their order. */
  async function settled(shared: Shared): Promise<void> {
    await shared.answers.get('exchange', 'nothing');
  }

  /** The one answer in the store. */
  async function stored(): Promise<readonly [key: string, value: string]> {
    const found = [...(await redis.everything())].filter(([key]) => key.startsWith('sallyport:v1:answer:'));
    expect(found).toHaveLength(1);
    return found[0] ?? ['', ''];
  }

  test('of one replica are found by another, with their expiry, until then', async () => {
    const [one, other] = [await replica(), await replica(KEY, listener())];
    const answer = JSON.parse('{"active":true,"sub":"ålice 🙂","__proto__":{"a":[1.5,null]}}') as unknown;
    one.answers.set('introspection', 'key', answer, now + 5000);
    await settled(one);
    const found = await other.answers.get('introspection', 'key');
    expect(found?.expiresAt).toBe(now + 5000);
    expect(JSON.stringify(found?.answer)).toBe(JSON.stringify(answer));
    expect(await other.answers.get('exchange', 'key')).toBeUndefined();
    expect(await other.answers.get('introspection', 'other')).toBeUndefined();
    now += 4999;
    expect(await other.answers.get('introspection', 'key')).toBeDefined();
    now += 1;
    expect(await other.answers.get('introspection', 'key')).toBeUndefined();
  });

  test('expire in the store under a name with our prefix', async () => {
    const one = await replica();
    one.answers.set('exchange', 'key', {}, now + 5000);
    await settled(one);
    const [key] = await stored();
    expect(key).toMatch(/^sallyport:v1:answer:exchange:[\w-]{43}$/);
    expect(await redis.client.pTTL(key)).toBeGreaterThan(3000);
    expect(await redis.client.pTTL(key)).toBeLessThanOrEqual(5000);
    one.answers.set('exchange', 'past', {}, now);
    await settled(one);
    await stored();
  });

  test('that are deleted are gone for every replica', async () => {
    const [one, other] = [await replica(), await replica(KEY, listener())];
    one.answers.set('introspection', 'key', { active: true }, now + 5000);
    await settled(one);
    expect(await other.answers.get('introspection', 'key')).toBeDefined();
    other.answers.delete('introspection', 'key');
    await settled(other);
    expect(await one.answers.get('introspection', 'key')).toBeUndefined();
  });

  // sealing.test.ts has what a reader of the store learns.
  test('are not found with another session key', async () => {
    const [one, other] = [await replica(), await replica('another key of thirty-two characters', listener())];
    one.answers.set('introspection', 'key', {}, now + 5000);
    await settled(one);
    expect(await other.answers.get('introspection', 'key')).toBeUndefined();
  });

  test.for<readonly [how: string, meddle: (value: string) => string]>([
    ['changed', (value) => `${value.slice(0, 20)}${value[20] === 'A' ? 'B' : 'A'}${value.slice(21)}`],
    ['cut', (value) => value.slice(0, -4)],
    ['longer', (value) => `${value}AAAA`],
    ['one byte', () => 'A'],
    ['JSON in the open', () => JSON.stringify({ answer: { active: true }, expiresAt: 9e15 })],
    ['as long as it gets', () => 'A'.repeat(5_000_000)],
  ])('that a third party wrote are ignored: %s', async ([_how, meddle]) => {
    const one = await replica();
    one.answers.set('introspection', 'key', { active: true }, now + 5000);
    await settled(one);
    const [key, value] = await stored();
    await redis.client.set(key, meddle(value));
    expect(await one.answers.get('introspection', 'key')).toBeUndefined();
    expect(told.requests.at(-1)).toBe('get corrupt');
    await redis.client.set(key, value);
    expect(await one.answers.get('introspection', 'key')).toBeDefined();
  });

  test('under another key or of another kind are ignored and reported once a minute', async () => {
    const one = await replica();
    one.answers.set('introspection', 'mine', { sub: 'mallory' }, now + 5000);
    await settled(one);
    const [mine, value] = await stored();
    one.answers.set('introspection', 'theirs', { sub: 'alice' }, now + 5000);
    await settled(one);
    const theirs = [...(await redis.everything()).keys()].find((key) => key.includes(':answer:') && key !== mine) ?? '';
    await redis.client.set(theirs, value);
    for (let n = 0; n < 5; n += 1) expect(await one.answers.get('introspection', 'theirs')).toBeUndefined();
    expect(await one.answers.get('introspection', 'mine')).toMatchObject({ answer: { sub: 'mallory' } });
    await redis.client.del(theirs);
    await redis.client.lPush(theirs, 'a list');
    expect(await one.answers.get('introspection', 'theirs')).toBeUndefined();
    const warnings = told.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toEqual([{ level: 'warn', msg: 'shared store holds a value that no replica wrote', key: theirs }]);
  });

  test('expire at their own time, whatever the TTL in the store is', async () => {
    const one = await replica();
    one.answers.set('introspection', 'key', {}, now + 5000);
    await settled(one);
    const [key] = await stored();
    await redis.client.persist(key);
    now += 5000;
    expect(await one.answers.get('introspection', 'key')).toBeUndefined();
  });

  test('that are too long are not stored', async () => {
    const one = await replica();
    one.answers.set('introspection', 'fits', 'x'.repeat(48_000), now + 5000);
    one.answers.set('introspection', 'long', 'x'.repeat(50_000), now + 5000);
    await settled(one);
    expect(await one.answers.get('introspection', 'fits')).toBeDefined();
    expect(await one.answers.get('introspection', 'long')).toBeUndefined();
    await stored();
  });

  test('survive a reload with the same store, and end with the store', async () => {
    const one = await replica();
    const connection = one.store()?.connection;
    one.answers.set('introspection', 'key', 1, now + 5000);
    (await one.prepare({ url: redis.url, onFailure: 'open' }, KEY)).use();
    expect(one.store()?.connection).toBe(connection);
    for (const url of [redis.url, `${redis.url}/1`]) (await one.prepare({ url, onFailure: 'closed' }, KEY)).drop();
    expect(one.store()?.connection).toBe(connection);
    expect(connection?.state()).toEqual({ state: 'available' });
    expect(await one.answers.get('introspection', 'key')).toMatchObject({ answer: 1 });
    (await one.prepare(undefined, KEY)).use();
    expect(one.state()).toBeUndefined();
    expect(await one.answers.get('introspection', 'key')).toBeUndefined();
    expect(connection?.state()).toMatchObject({ state: 'unavailable', problem: 'closed' });
    (await one.prepare({ url: `${redis.url}/1`, onFailure: 'closed' }, KEY)).use();
    await told.until(true);
    expect(await one.answers.get('introspection', 'key')).toBeUndefined();
  });
});

test('are always absent without a store', async () => {
  const { observer, log, requests } = listener();
  const shared = createShared(observer, log, Date.now);
  (await shared.prepare(undefined, undefined)).use();
  shared.answers.set('introspection', 'key', 1, Date.now() + 5000);
  expect(await shared.answers.get('introspection', 'key')).toBeUndefined();
  shared.answers.delete('introspection', 'key');
  expect([shared.state(), requests]).toEqual([undefined, []]);
  await shared.close();
});
