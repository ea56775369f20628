import { beforeEach, describe, expect, test } from 'vitest';
import { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import type { StoreConnection } from '../../../src/ports/store.ts';
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
      isLifted: () => false,
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

    const places = ['entries', 'order', 'arrivals', 'counter'] as const;
    const garbage: readonly (readonly [string, (key: string) => Promise<unknown>])[] = [
      ['deleted', (key) => redis.client.del(key)],
      ['a text', (key) => redis.client.set(key, 'x')],
      ['the number 0', (key) => redis.client.set(key, '0')],
      ['the number 1', (key) => redis.client.set(key, '1')],
      ['the highest number', (key) => redis.client.set(key, '9223372036854775807')],
      ['a list', (key) => redis.client.del(key).then(async () => redis.client.lPush(key, 'x'))],
      ['a set with the highest score', (key) => redis.client.zAdd(key, { score: Infinity, value: 'x' })],
    ];
    test.each(places.flatMap((place) => garbage.map(([what, write]) => [place, what, write] as const)))(
      '%s: %s, for a replica that starts afterwards and for those that run',
      async (place, _what, write) => {
        const [one, two] = [revocationsAt(connection, () => {}), revocationsAt(connection, () => {})];
        // Two pages of them.
        const subjects = Array.from({ length: 600 }, (_, index) => `person-${index}`);
        await one.store.keep(subjects.map(revocationOf));
        await Promise.all([one.store.follow(), two.store.follow()]);
        await write(sealing.place('{revocations}', place)).catch(() => {});
        await expect.poll(async () => one.store.keep([revocationOf('later')]).catch(() => 'failed')).toBe('kept');
        for (let page = 0; page < 3; page += 1) await one.store.compare();
        const started = revocationsAt(connection, () => {});
        // A store on a busy machine may miss a deadline, after which a replica reads again.
        const sizes = async (): Promise<readonly number[]> => {
          await Promise.all([two.store.follow(), started.store.follow()]);
          return [started.known.size, two.known.size];
        };
        await expect.poll(sizes, { timeout: 10_000 }).toEqual([601, 601]);
      },
    );

    test('by a value of 50 MB, which no step reads', async () => {
      const { store } = revocationsAt(connection, () => {});
      await store.keep([revocationOf('alice')]);
      await store.follow();
      await redis.client.configSet('slowlog-log-slower-than', '1000000');
      await everyField(() => 'x'.repeat(50_000_000));
      const slow = async (): Promise<number> => Number(await redis.client.sendCommand(['SLOWLOG', 'LEN']));
      await redis.client.sendCommand(['SLOWLOG', 'RESET']);
      await redis.client.configSet('slowlog-log-slower-than', '100000');
      const started = revocationsAt(connection, () => {});
      await started.store.follow();
      await store.compare();
      await started.store.follow();
      expect(await slow()).toBe(0);
      await redis.client.configSet('slowlog-log-slower-than', '10000');
      expect([...started.known.keys()]).toEqual(['alice']);
    });

    test('nor have replicas read everything again and again', async () => {
      const { store } = revocationsAt(connection, () => {});
      await store.keep([revocationOf('alice')]);
      await store.follow();
      await redis.client.set(sealing.place('{revocations}', 'counter'), '0');
      for (let round = 0; round < 3; round += 1) await store.follow();
      const before = (await redis.client.info('commandstats')).match(/cmdstat_hstrlen:calls=([0-9]+)/)?.[1];
      for (let round = 0; round < 5; round += 1) await store.follow();
      const after = (await redis.client.info('commandstats')).match(/cmdstat_hstrlen:calls=([0-9]+)/)?.[1];
      // The comparison of each second reads too.
      expect(Number(after) - Number(before)).toBeLessThan(3);
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
