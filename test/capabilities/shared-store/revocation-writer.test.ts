import { beforeEach, describe, expect, test } from 'vitest';
import { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import type { StoreConnection } from '../../../src/capabilities/shared-store/connection.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { available, closeOpened, opened, PATIENT_MS, revocationOf, revocationsAt, sealing } from './opened.ts';

const LEASE_MS = 15_000;

describe.runIf(hasRedis)('a writer of the store', () => {
  const redis = startBeforeAll(startRedis);
  let connection: StoreConnection;
  let now: number;
  let corrupt: string[];

  beforeEach(async () => {
    ({ connection } = await available(redis.url, PATIENT_MS));
    await redis.client.flushAll();
    now = Date.now();
    corrupt = [];
    return closeOpened;
  });

  const replica = (): RevocationStore => {
    const store = new RevocationStore({
      connection,
      sealing,
      clock: () => now,
      keepMs: () => 600_000,
      onNews() {},
      onComplete() {},
      known: () => [],
      onCorrupt: (place) => void corrupt.push(place),
    });
    opened.push(() => store.close());
    return store;
  };
  const lease = async (store: RevocationStore, id: string, name = 'okta') =>
    store.lease(name, { id, polledAt: now }, LEASE_MS);
  const keyOf = (name: string): string => sealing.place('{revocations}', `lease ${name}`);

  describe('cannot take away what a replica knows', () => {
    const entries = sealing.place('{revocations}', 'entries');
    const order = sealing.place('{revocations}', 'order');

    test.each<[what: string, write: () => Promise<unknown>]>([
      ['all entries', () => redis.client.del(entries)],
      ['their order', () => redis.client.del(order)],
      [
        'everything but the counter',
        () => redis.client.del([entries, order, sealing.place('{revocations}', 'arrivals')]),
      ],
      ['an entry, by garbage', () => everyField(() => 'garbage')],
      ['an entry, by a later time', () => everyField((value) => value.replace(/^[0-9]+/, '99999999999'))],
      ['an entry, by a long text', () => everyField(() => `99999999999 ${'x'.repeat(100_000)}`)],
    ])('%s', async (_what, write) => {
      const { store } = revocationsAt(connection, () => {});
      await store.keep([revocationOf('alice')]);
      await store.follow();
      await write();
      const later = revocationsAt(connection, () => {});
      await store.compare();
      await later.store.follow();
      expect([...later.known.keys()]).toEqual(['alice']);
    });

    test('by an older revocation of the same person', async () => {
      const { store } = revocationsAt(connection, () => {});
      const newer = revocationOf('alice');
      await store.keep([{ ...newer, at: newer.at - 100 }]);
      const before = await redis.client.hGetAll(entries);
      await store.keep([newer]);
      await store.follow();
      await redis.client.hSet(entries, before);
      await store.compare();
      const later = revocationsAt(connection, () => {});
      await later.store.follow();
      expect(later.known.get('alice')).toMatchObject({ at: newer.at });
    });

    test('nor keep a revocation from being kept', async () => {
      const revoked = revocationOf('alice');
      await revocationsAt(connection, () => {}).store.keep([revoked]);
      await everyField(() => '99999999999 forged');
      expect(await revocationsAt(connection, () => {}).store.keep([revoked], 'event')).toBe('kept');
      const later = revocationsAt(connection, () => {});
      await later.store.follow();
      expect([...later.known.keys()]).toEqual(['alice']);
    });

    async function everyField(change: (value: string) => string): Promise<void> {
      for (const [field, value] of Object.entries(await redis.client.hGetAll(entries)))
        await redis.client.hSet(entries, field, change(value));
    }
  });

  test('cannot forge the lease of a source', async () => {
    const [one, other] = [replica(), replica()];
    expect(await lease(one, 'one')).toEqual({ isHeld: true, polledAt: now });
    expect(await lease(other, 'other')).toEqual({ isHeld: false, polledAt: now });
    expect(corrupt).toEqual([]);
  });

  test.each<[what: string, write: (key: string) => Promise<unknown>]>([
    ['garbage', (key) => redis.client.set(key, 'garbage')],
    ['the name of a replica, as older releases wrote it', (key) => redis.client.set(key, 'one')],
    ['a long text', (key) => redis.client.set(key, 'x'.repeat(1_000_000))],
    ['a lease of another source', async (key) => redis.client.set(key, (await redis.client.get(keyOf('entra'))) ?? '')],
  ])('cannot keep replicas from polling by %s', async (_what, write) => {
    await lease(replica(), 'other', 'entra');
    await write(keyOf('okta'));
    expect(await lease(replica(), 'one')).toMatchObject({ isHeld: true });
    expect(corrupt).toEqual([keyOf('okta')]);
  });

  test('cannot keep replicas from polling by a value of another type', async () => {
    await redis.client.lPush(keyOf('okta'), 'x');
    expect(await lease(replica(), 'one')).toMatchObject({ isHeld: true });
  });

  test('cannot keep replicas from polling by a lease that is over', async () => {
    await lease(replica(), 'gone');
    const before = (await redis.client.get(keyOf('okta'))) ?? '';
    await redis.client.set(keyOf('okta'), before);
    now += 59_000;
    const store = replica();
    expect(await lease(store, 'one')).toMatchObject({ isHeld: false });
    now += 2_000;
    expect(await lease(store, 'one')).toMatchObject({ isHeld: true });
    await redis.client.set(keyOf('okta'), before);
    expect(await lease(store, 'one')).toMatchObject({ isHeld: true });
    expect(corrupt).toEqual([keyOf('okta'), keyOf('okta')]);
  });

  test('a lease that its holder does not renew passes to another replica', async () => {
    const [one, other] = [replica(), replica()];
    await lease(one, 'one');
    await redis.client.del(keyOf('okta'));
    expect(await lease(other, 'other')).toMatchObject({ isHeld: true });
    expect(await lease(one, 'one')).toMatchObject({ isHeld: false });
    expect(await lease(other, 'other')).toMatchObject({ isHeld: true });
  });
});
