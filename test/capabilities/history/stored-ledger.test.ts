import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryLedger } from '../../../src/policy-parts/history/memory-ledger.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import type { Ledger, LedgerCheck, Reservation, LedgerVerdict } from '../../../src/policy-parts/history/ledger.ts';
import type { StoreConnection } from '../../../src/ports/store.ts';
import { createSharedLedger } from '../../../src/capabilities/history/stored-ledger.ts';
import { ledgerScripts } from '../../../src/capabilities/history/ledger-scripts.ts';
import { call } from './call.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { runs } from '../../support/runs.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { play } from '../shared-store/play.ts';
import { steps } from '../shared-store/random-calls.ts';
import { createReferenceLedger } from '../shared-store/reference-ledger.ts';
import { available, closeOpened, sealing, type Told } from '../shared-store/opened.ts';

const HOUR = 3_600_000;
const passed: LedgerVerdict = { passed: true, failed: undefined };

function spend(amount: number, limit: number, track = 'q', keepMs = HOUR): Reservation {
  return call({ checks: [{ kind: 'quota', track, amount, limit }], entries: [{ track, amount, keepMs }] });
}

/** A store that answers late, as on a busy machine, does not count as away. */
const PATIENT_MS = 60_000;

const left = (wanted: Partial<Reservation> = {}): Reservation =>
  call({ entries: [{ track: 't', amount: 0, keepMs: HOUR }], ...wanted });
const looks = (kind: LedgerCheck['kind']): Reservation => call({ checks: [{ kind, track: 't', amount: 0, limit: 0 }] });

describe.skipIf(!hasRedis)('the ledger that replicas share', () => {
  const redis = startBeforeAll(startRedis);
  let told: Told[];
  let connections: StoreConnection[];
  beforeEach(async () => {
    await redis.client.flushAll();
    const both = [await available(redis.url, PATIENT_MS), await available(redis.url, PATIENT_MS)];
    told = both.map((each) => each.told);
    connections = both.map((each) => each.connection);
  });
  afterEach(closeOpened);

  function replica(index: number, wanted: Partial<Parameters<typeof createSharedLedger>[0]> = {}): Ledger {
    const connection = connections[index] as StoreConnection;
    const local = createMemoryLedger(() => performance.now());
    return createSharedLedger({ connection, sealing, local, onFailure: 'closed', ...wanted });
  }

  /** By a clock that tests set. It starts after 1970, as that of a store does. */
  const settable = {
    ...ledgerScripts,
    reserve: ledgerScripts.reserve.replace("redis.call('TIME')", "{ redis.call('GET', 'now') / 1000, 0 }"),
  };
  /** With trees so narrow that few entries need every level of them. */
  const narrow = {
    reserve: settable.reserve.replace('WIDTH, LEVELS, WHOLE, BUCKETS = 32', 'WIDTH, LEVELS, WHOLE, BUCKETS = 2'),
    settle: settable.settle.replace('WIDTH, LEVELS, WHOLE, BUCKETS = 32', 'WIDTH, LEVELS, WHOLE, BUCKETS = 2'),
  };
  const setClock = async (ms: number): Promise<void> => void (await redis.client.set('now', String(ms)));

  test.each([
    ['random calls and times', settable],
    ['trees of many levels', narrow],
  ])(
    'decides as a ledger that walks over everything, for %s',
    async (_, scripts) => {
      await fc.assert(
        fc.asyncProperty(steps, async (random) => {
          let now = 1_000_000;
          const expected = await play(
            createReferenceLedger(() => now),
            random,
            (ms) => void (now += ms),
          );
          await redis.client.flushDb();
          now = 1_000_000;
          await setClock(now);
          const ledger = replica(0, { scripts });
          const wait = (ms: number): Promise<void> => setClock((now += ms));
          expect(await play(ledger, random, wait)).toEqual(expected);
        }),
        { numRuns: runs / 5 },
      );
    },
    60_000,
  );

  test('R-255: lets exactly two of three calls of 2,000 pass under 5,000, 300 times over two connections', async () => {
    const [one, other] = [replica(0), replica(1)];
    const passing: number[] = [];
    for (let trial = 0; trial < 300; trial += 1) {
      const three = [one, other, one].map(async (each) => each.reserve(spend(2000, 5000, `q${trial}`)));
      // Each trial has the store for itself.
      passing.push((await Promise.all(three)).filter((verdict) => verdict.passed).length);
    }
    expect(new Set(passing)).toEqual(new Set([2]));
  }, 60_000);

  test('names the time until a call passes as the ledger in memory does, among thousands of entries', async () => {
    let now = 1_000_000;
    await setClock(now);
    const memory = createMemoryLedger(() => now);
    const ledger = replica(0, { scripts: settable });
    const both = async (reservation: Reservation): Promise<readonly LedgerVerdict[]> => [
      memory.reserve(reservation),
      await ledger.reserve(reservation),
    ];
    const amounts = Array.from({ length: 1500 }, (_, index) => (index * 7919) % 11);
    const sum = amounts.reduce((total, amount) => total + amount, 0);
    for (const amount of amounts) {
      await setClock((now += 7));
      await both(spend(amount, sum));
    }
    for (let excess = 1; excess < sum; excess += 397) {
      const [expected, found] = await both(spend(excess, sum));
      expect(found).toEqual(expected);
      expect(expected?.passed).toBe(false);
    }
    await setClock((now += HOUR - 10_000));
    const [expected, found] = await both(spend(sum - 1, sum));
    expect(found).toEqual(expected);
  }, 60_000);

  test('counts a call of one replica for the other, as soon as it is settled', async () => {
    const approve = left();
    expect(await replica(1).reserve(looks('after'))).toMatchObject({ passed: false });
    await replica(0).reserve(approve);
    expect(await replica(1).reserve(looks('never_after'))).toMatchObject({ passed: false });
    await replica(0).settle(approve.id, 'answered', 'main');
    expect(await replica(1).reserve(looks('after'))).toEqual(passed);
  });

  test('takes over a round that waited at the other replica, once', async () => {
    const first = spend(3, 5);
    await replica(0).reserve(first);
    await replica(0).settle(first.id, 'waiting', 'main');
    const next = (): Reservation => ({ ...spend(3, 5), continues: first.id });
    const verdicts = await Promise.all([0, 1, 0].map(async (index) => replica(index).reserve(next())));
    expect(verdicts.filter((verdict) => verdict.passed)).toHaveLength(1);
  });

  test('knows its scripts again after SCRIPT FLUSH and after a restart of the store', async () => {
    const ledger = replica(0);
    await ledger.reserve(left());
    await redis.client.scriptFlush();
    expect(await ledger.reserve(looks('never_after'))).toMatchObject({ passed: false });
    await redis.kill();
    await told[0]?.until(false);
    await redis.restart();
    await told[0]?.until(true);
    expect(await ledger.reserve(looks('never_after'))).toEqual(passed);
  });

  test('R-256: refuses a caller that has its part, and every caller when it is full, until entries end', async () => {
    await setClock(1_000_000);
    const bounded = replica(0, { scripts: settable, bounds: { ofOwner: 1, ofAll: 2 } });
    const full = (detail: string): LedgerVerdict => ({ passed: false, failed: { why: 'full', detail } });
    const first = left();
    expect(await bounded.reserve(first)).toEqual(passed);
    expect(await bounded.reserve(left())).toEqual(full('1 entries of this caller are kept'));
    const shadow = await bounded.reserve(left({ isShadow: true }));
    expect(shadow).toEqual({ ...full('1 entries of this caller are kept'), passed: true });
    expect(await bounded.reserve(left({ owner: 'bob' }))).toEqual(passed);
    expect(await bounded.reserve(left({ owner: 'carol' }))).toEqual(full('2 entries are kept'));
    await bounded.settle(first.id, 'returned', 'main');
    expect(await bounded.reserve(left({ owner: 'carol' }))).toEqual(passed);
    await setClock(1_000_000 + HOUR);
    expect(await bounded.reserve(left())).toEqual(passed);
  });

  /** The commands that the store runs, those of scripts among them. */
  async function commandsOf(work: () => Promise<unknown>): Promise<number> {
    await redis.client.configResetStat();
    await work();
    const calls = (await redis.client.info('commandstats')).matchAll(/:calls=(\d+)/g);
    return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  test('R-256: does no more work in a step after thousands of entries have ended, and keeps no large key', async () => {
    await setClock(1_000_000);
    const ledger = replica(0, { scripts: settable });
    const everyCall = (): Reservation =>
      call({ entries: spend(1, 1, 'q').entries, checks: looks('never_after').checks });
    const inOneTrack = Array.from({ length: 2500 }, everyCall);
    await Promise.all(inOneTrack.map(async (each) => ledger.reserve(each)));
    await Promise.all(inOneTrack.slice(0, 2000).map(async ({ id }) => ledger.settle(id, 'answered', 'main')));

    const fields: number[] = [];
    for await (const keys of redis.client.scanIterator({ MATCH: '*:history:*', TYPE: 'hash' })) {
      fields.push(...(await Promise.all(keys.map((key) => redis.client.hLen(key)))));
    }
    expect(Math.max(...fields)).toBeLessThan(1200);

    await setClock(1_000_000 + HOUR);
    const commands = await commandsOf(async () => expect(await ledger.reserve(spend(5, 5))).toEqual(passed));
    expect(commands).toBeLessThan(500);
    expect(await ledger.reserve(spend(1, 5))).toMatchObject({ failed: { retryAfterMs: HOUR } });
  }, 60_000);

  test('forgets nothing while the clock of the store goes backwards', async () => {
    await setClock(9_000_000);
    const ledger = replica(0, { scripts: settable });
    await ledger.reserve(spend(5, 5));
    await setClock(1_000_000);
    expect(await ledger.reserve({ ...spend(0, 5), checks: [] })).toEqual(passed);
    const failed = { why: 'check', check: 0, retryAfterMs: 8_000_000 + HOUR };
    expect(await ledger.reserve(spend(1, 5))).toEqual({ passed: false, failed });
  });

  test('R-258: stores neither tracks nor callers nor ids, and every key expires', async () => {
    await replica(0).reserve(spend(3, 5, 'secret-track'));
    const own = await redis.client.keys('*:history*');
    expect(own).toHaveLength(4);
    expect(own.join()).not.toMatch(/secret|alice|id-/);
    const expiries = await Promise.all(own.map((key) => redis.client.pTTL(key)));
    expect(Math.min(...expiries)).toBeGreaterThan(HOUR - 60_000);
    expect(Math.max(...expiries)).toBeLessThanOrEqual(HOUR);
  });

  test('R-257: refuses while the store is away, or counts alone with on_store_failure: open', async () => {
    const local = createMemoryLedger(() => performance.now());
    const open = replica(0, { onFailure: 'open', local });
    const closed = replica(0);
    const approve = left();
    await open.reserve(approve);
    await open.settle(approve.id, 'answered', 'main');
    const refused = left();
    await open.reserve({ ...refused, checks: looks('never_after').checks });
    await redis.kill();
    await told[0]?.until(false);
    await expect(closed.reserve(looks('after'))).rejects.toThrow(Denial);
    await expect(closed.reserve(looks('after'))).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
    await expect(closed.settle('unknown', 'answered', 'main')).resolves.toBeUndefined();
    expect(await open.reserve(looks('after'))).toEqual(passed);
    await redis.restart();
    await Promise.all(told.map((each) => each.until(true)));
  });

  /** A connection on which every command fails while `failing` has one, as at a store that is away or refuses it. */
  function faulty(failing: { state?: 'available' | 'unavailable' }): StoreConnection {
    const connection = connections[0] as StoreConnection;
    return {
      ...connection,
      run: async (...command) => {
        if (failing.state !== undefined) throw new Error('not now');
        return connection.run(...command);
      },
      state: () => (failing.state === 'unavailable' ? { state: 'unavailable', problem: '' } : { state: 'available' }),
    };
  }

  test('settles late what the store could not take, before it judges the next call', async () => {
    const failing: Parameters<typeof faulty>[0] = {};
    const ledger = replica(0, { connection: faulty(failing) });
    const [returned, answered] = [spend(5, 5, 'quota'), left()];
    await Promise.all([ledger.reserve(returned), ledger.reserve(answered)]);
    failing.state = 'unavailable';
    await ledger.settle(returned.id, 'returned', 'main');
    await ledger.settle(answered.id, 'answered', 'main');
    await expect(ledger.reserve(looks('after'))).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
    delete failing.state;
    expect(await ledger.reserve(spend(5, 5, 'quota'))).toEqual(passed);
    expect(await ledger.reserve(looks('after'))).toEqual(passed);
  });

  test('does not repeat a settlement that the store refuses', async () => {
    const failing: Parameters<typeof faulty>[0] = {};
    const ledger = replica(0, { connection: faulty(failing) });
    const answered = left();
    await ledger.reserve(answered);
    failing.state = 'available';
    await ledger.settle(answered.id, 'answered', 'main');
    delete failing.state;
    expect(await ledger.reserve(looks('after'))).toMatchObject({ passed: false });
  });

  test('needs only the commands that docs/replicas.md lists', async () => {
    const page = await readFile('docs/replicas.md', 'utf8');
    const lines = page.split('\n- ').filter((line) => /^(?:All keys|With rules over time)/.test(line));
    const commands = lines.flatMap((line) => line.match(/\+\w+/g) ?? []);
    expect(commands.length).toBeGreaterThan(15);
    await redis.client.aclSetUser('gateway', ['on', '>secret', '~sallyport:v1:*', ...commands]);
    const { connection } = await available(`redis://gateway:secret@127.0.0.1:${redis.port}`, PATIENT_MS);
    const ledger = replica(0, { connection });
    const first = spend(3, 5);
    expect(await ledger.reserve(first)).toEqual(passed);
    await ledger.settle(first.id, 'waiting', 'main');
    const next = { ...spend(3, 5), continues: first.id };
    expect(await ledger.reserve(next)).toEqual(passed);
    expect(await ledger.reserve(spend(3, 5))).toMatchObject({ passed: false });
    await ledger.settle(next.id, 'returned', 'main');
    expect(await ledger.reserve(spend(5, 5))).toEqual(passed);
  });

  test('treats foreign values as an unavailable store', async () => {
    await replica(0).reserve(left());
    for (const key of await redis.client.keys('*')) await redis.client.set(key, 'nonsense');
    await expect(replica(0).reserve(left())).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
  });
});
