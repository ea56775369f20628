import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import slotOf from 'cluster-key-slot';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Reservation } from '../../../src/policy-parts/history/ledger.ts';
import { createSharedLedger } from '../../../src/capabilities/history/stored-ledger.ts';
import { createMemoryLedger } from '../../../src/policy-parts/history/memory-ledger.ts';
import type { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import { call } from '../history/call.ts';
import { certificate, pem } from '../../support/certificates.ts';
import { type Cluster, type ClusterNode, moveSlot, startCluster } from '../../support/cluster.ts';
import { freePort } from '../../support/ports.ts';
import { hasRedis } from '../../support/redis.ts';
import { asked } from './asked-call.ts';
import {
  available,
  closeOpened,
  connected,
  frontDoorAt,
  hearingAt,
  KEY,
  listener,
  opened,
  redisWith,
  problemAt,
  PATIENT_MS,
  replicaAt,
  revocationOf,
  revocationsAt,
  sealing,
  type Replica,
} from './opened.ts';

afterEach(closeOpened);

const expiry = (): number => Date.now() + 300_000;
/** The slot of what a route counts. */
const slotOfRoute = (route: string): number => slotOf(sealing.slot('history', route));

/** A call that adds one to the quota of a route. */
function spend(limit: number, route = 'main'): Reservation {
  const checks = [{ kind: 'quota', track: 'q', amount: 1, limit }] as const;
  return call({ route, checks, entries: [{ track: 'q', amount: 1, keepMs: 3_600_000 }] });
}

/** What became of calls. */
interface Calls {
  passed: number;
  refused: number;
  failed: number;
}

/** Makes calls until one is refused or `isDone`, 8 at a time. */
async function spendUntil(
  shared: Replica,
  { limit, route }: { readonly limit: number; readonly route: string },
  isDone: () => boolean,
  calls: Calls,
): Promise<void> {
  const isRefused = (): boolean => calls.refused > 0;
  const one = async (): Promise<void> => {
    while (!isDone() && !isRefused()) {
      const verdict = await Promise.resolve(shared.ledger.reserve(spend(limit, route))).catch(() => undefined);
      if (verdict === undefined) calls.failed += 1;
      else if (verdict.passed) calls.passed += 1;
      else calls.refused += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

const connectedRevocations = async (url: string) => revocationsAt((await available(url, PATIENT_MS)).connection);

/** The first keys of proofs in a slot. */
function numbersIn(slot: number, count: number): readonly string[] {
  const found: string[] = [];
  for (let number = 0; found.length < count; number += 1) {
    if (slotOf(sealing.place('replay', String(number))) === slot) found.push(String(number));
  }
  return found;
}

/** Asks again while the store is unavailable. On a busy machine a command may take too long. */
const patiently = async <Value>(question: () => Promise<Value>): Promise<Value> =>
  vi.waitFor(question, { timeout: 10_000, interval: 100 });

/** A route whose counts a master has. */
async function routeAt(cluster: Cluster, master: ClusterNode): Promise<string> {
  for (let number = 0; ; number += 1) {
    const route = `route ${number}`;
    if ((await cluster.masterOf(slotOfRoute(route))) === master) return route;
  }
}

describe.skipIf(!hasRedis)('a store that is a cluster', { shuffle: false }, () => {
  let cluster: Cluster;
  let url: string;
  beforeAll(async () => {
    cluster = await startCluster(['--requirepass', 's3cr3t', '--masterauth', 's3cr3t']);
    // Exactly the permissions that the page lists.
    const page = await readFile(new URL('../../../docs/replicas.md', import.meta.url), 'utf8');
    const section = page.slice(page.indexOf('## Access to the store'), page.indexOf('## When the store is unav'));
    const rules = [...section.matchAll(/`([~&+][^`]+)`/g)].flatMap(([, rule = '']) => rule.split(' '));
    if (rules.length === 0) throw new Error('the page lists no permissions');
    await Promise.all(cluster.nodes.map(({ client }) => client.aclSetUser('gate', ['on', '>s3cr3t', ...rules])));
    url = cluster.url.replace('//:', '//gate:');
  });
  afterAll(() => cluster.close());

  const patientReplica = (told = listener()): Promise<Replica> => replicaAt(url, told, { commandMs: PATIENT_MS });
  const twoReplicas = async () => [await patientReplica(), await patientReplica()] as const;

  /** The master of a slot, and the one that it moves to. */
  const mastersFor = async (slot: number) => ({
    source: await cluster.masterOf(slot),
    target: await cluster.masterOf((slot + 6000) % 16_384),
  });

  describe('all of whose servers run', { shuffle: true }, () => {
    test('R-341: keeps used proofs, answers, rates and quotas for all replicas, at every master', async () => {
      const [one, other] = await twoReplicas();
      const numbers = Array.from({ length: 16 }, (_, index) => String(index));
      const used = new Set<ClusterNode>();
      for (const number of numbers) {
        used.add(await cluster.masterOf(slotOf(sealing.place('replay', number))));
        expect(await one.replay.firstSeen(number, expiry(), 'alice')).toBe(true);
        expect(await other.replay.firstSeen(number, expiry(), 'alice')).toBe(false);
        one.answers.set('exchange', number, { number }, expiry());
        await expect.poll(async () => (await other.answers.get('exchange', number))?.answer).toEqual({ number });
        // Its owner, its tracks and the bound of all are needed in one step.
        expect(await one.ledger.reserve(spend(1, `route ${number}`))).toMatchObject({ passed: true });
        expect(await other.ledger.reserve(spend(1, `route ${number}`))).toMatchObject({ failed: { why: 'check' } });
      }
      expect(used.size).toBe(3);
      const hourly = { requests: 1, perMs: 3_600_000, burst: 1 };
      const prepared = await Promise.all(
        [one, other].map(async (shared) => shared.prepare({ url, onFailure: 'closed' }, KEY)),
      );
      const limiters = prepared.map((each) => each.limiters('requests', hourly));
      expect(await limiters[0]?.take('alice')).toBe(0);
      expect(await limiters[1]?.take('alice')).toBeGreaterThan(0);
    });

    test('R-341: settles a call at another replica, and continues a round there', async () => {
      const [one, other] = await twoReplicas();
      const first = spend(1, 'settled');
      await one.ledger.reserve(first);
      await one.ledger.settle(first.id, 'waiting', 'settled');
      const next = { ...spend(1, 'settled'), continues: first.id };
      expect(await other.ledger.reserve(next)).toMatchObject({ passed: true });
      await one.ledger.settle(next.id, 'returned', 'settled');
      expect(await other.ledger.reserve(spend(1, 'settled'))).toMatchObject({ passed: true });
    });

    test('R-341: bounds the entries of a route, not of all routes', async () => {
      const { connection } = await available(url, PATIENT_MS);
      const local = createMemoryLedger(Date.now);
      const bounds = { ofAll: 2, ofOwner: 2 };
      const ledger = createSharedLedger({ connection, sealing, local, onFailure: 'closed', bounds });
      for (const route of ['bounded', 'bounded', 'other'])
        expect(await ledger.reserve(spend(9, route))).toMatchObject({ passed: true });
      expect(await ledger.reserve(spend(9, 'bounded'))).toMatchObject({ failed: { why: 'full' } });
    });

    test('R-341: takes an approval once over all replicas', async () => {
      const [one, other] = await twoReplicas();
      for (const route of ['a', 'b', 'c', 'd']) {
        const first = asked('d', { route });
        expect(await one.approvals.ask(first)).toMatchObject({ kind: 'waiting', isNew: true });
        expect(await other.approvals.decide(route, first.request.id, 'approve')).toMatchObject({ isDone: true });
        const answers = await Promise.all(
          [one, other, one, other].map(async ({ approvals }) => approvals.ask(asked('d', { route }))),
        );
        expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
        expect(await other.approvals.find(route, first.request.id)).toMatchObject({ status: 'used' });
      }
    });

    test('R-341: keeps the records of the front door, and tells every gateway of a revoked token', async () => {
      const heard: string[] = [];
      await hearingAt(url, heard);
      const [one, other] = [await frontDoorAt(url), await frontDoorAt(url)];
      await one.set({ kind: 'SignIn', id: 'id', value: 'a sign-in', expiresAt: expiry(), owner: 'jane' });
      // A record of another owner leaves the index of that owner.
      await other.set({ kind: 'SignIn', id: 'id', value: 'a sign-in', expiresAt: expiry(), owner: 'joe' });
      expect(await other.hasRoom('SignIn', 'jane')).toBe(true);
      const taken = await Promise.all([one, other, one].map((store) => store.take('SignIn', 'id')));
      expect(taken.filter((record) => record !== undefined)).toEqual(['a sign-in']);
      expect(await one.addMember('set', 'a', expiry(), 9)).toBe(true);
      await other.removeMember('set', 'a');
      expect(await other.addMember('set', 'b', expiry(), 9)).toBe(true);
      expect(await one.takeMembers('set')).toEqual(['b']);
      expect(await one.firstSeen('code', expiry(), 'c')).toBe(true);
      expect(await other.firstSeen('code', expiry(), 'c')).toBe(false);
      await one.publishRevoked(['digest']);
      await expect.poll(() => heard).toEqual(['digest']);
    });

    test('R-341: keeps revocations, and leases what one replica does at a time', async () => {
      const stores = await Promise.all([connectedRevocations(url), connectedRevocations(url)]);
      const [one, other] = stores.map(({ store }) => store) as [RevocationStore, RevocationStore];
      expect(await one.keep([revocationOf('alice')], 'event')).toBe('kept');
      expect(await other.keep([revocationOf('alice')], 'event')).toBe('repeated');
      for (const { known } of stores) await expect.poll(() => [...known.keys()]).toEqual(['alice']);
      const holder = (id: string) => ({ id, polledAt: undefined });
      expect(await one.lease('poll', holder('1'), 10_000)).toMatchObject({ isHeld: true });
      expect(await other.lease('poll', holder('2'), 10_000)).toMatchObject({ isHeld: false });
    });

    test('R-341: says what is wrong with a URL, without the password', async () => {
      const [host] = /127[^,]+/.exec(url) ?? [];
      const single = await redisWith();
      for (const [url, problem] of [
        [`redis://:s3cr3t@${host}`, 'begin the URL with redis+cluster://'],
        [`redis+cluster://127.0.0.1:${single.port}`, 'cluster support disabled'],
        [`redis+cluster://:wr%6Fng-s3cr3t@${host}`, 'WRONGPASS'],
        [`redis+cluster://${host}`, 'NOAUTH'],
        ['redis+cluster://:s3cr3t@127.0.0.1:1', 'no server names the masters of the cluster'],
      ] as const)
        expect(await problemAt(url)).toContain(problem);
    });

    test('R-341: is reached over TLS, also at a server that does not know its own address', async () => {
      const before = getCACertificates();
      setDefaultCACertificates([pem('ca')]);
      opened.push(async () => setDefaultCACertificates(before));
      const tlsPort = await freePort();
      const options = {
        'cluster-enabled': 'yes',
        'cluster-port': String(await freePort()),
        'tls-port': String(tlsPort),
        'tls-cluster': 'yes',
        'tls-auth-clients': 'no',
        'tls-cert-file': certificate('server'),
        'tls-key-file': certificate('server-key'),
        'tls-ca-cert-file': certificate('ca'),
      };
      const redis = await redisWith(...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]));
      const told = listener();
      const connection = connected(`rediss+cluster://127.0.0.1:${tlsPort}`, told);
      await expect.poll(() => connection.state().problem).toContain('CLUSTERDOWN');
      // Not every slot has a master yet.
      await redis.client.clusterAddSlotsRange({ start: 0, end: 16_000 });
      await expect.poll(async () => redis.client.clusterInfo()).toContain('cluster_slots_assigned:16001');
      expect(connection.state().state).toBe('unavailable');
      await redis.client.clusterAddSlotsRange({ start: 16_001, end: 16_383 });
      await told.until(true);
      await connection.run('set', 'x', (client) => client.set('x', '1'));
      expect([await redis.client.getRange('x', 0, -1), connection.serverOf('x')]).toEqual([
        '1',
        `127.0.0.1:${tlsPort}`,
      ]);
    });

    test('R-342: uses an approval once while its slot moves to another master', async () => {
      const shared = await patientReplica();
      const route = 'moving';
      const slot = slotOf(sealing.slot('approvals', route));
      const first = asked('d', { route });
      await shared.approvals.ask(first);
      await shared.approvals.decide(route, first.request.id, 'approve');
      const answers: string[] = [];
      await moveSlot(cluster, slot, await mastersFor(slot), async () => {
        answers.push(
          await Promise.resolve(shared.approvals.ask(asked('d', { route }))).then(
            ({ kind }) => kind,
            (error: unknown) => /TRYAGAIN/.exec(String(error))?.[0] ?? String(error),
          ),
        );
      });
      // Not even where a part of the keys is: a step that ends in the middle would leave a part of its writes.
      expect(answers).toEqual(['TRYAGAIN', 'TRYAGAIN', 'TRYAGAIN', 'taken']);
      expect(await shared.approvals.find(route, first.request.id)).toMatchObject({ status: 'used' });
    });

    test('R-343: hears of revoked tokens after their channel has moved to another master', async () => {
      const heard: string[] = [];
      const told = listener();
      await hearingAt(url, heard, told);
      const slot = slotOf(sealing.place('channel', 'revoked tokens'));
      const down = told.until(false);
      await moveSlot(cluster, slot, await mastersFor(slot), async () => {});
      await down;
      await told.until(true);
      const store = await frontDoorAt(url);
      await expect.poll(async () => store.publishRevoked(['digest']).catch(() => 'away')).toBeUndefined();
      await expect.poll(() => heard).toEqual(['digest']);
    });

    test('R-342: a quota and proofs stay exact while their slot moves to another master', async () => {
      const told = listener();
      const [shared, other] = [await patientReplica(told), await patientReplica()];
      const slot = slotOfRoute('main');
      const { source, target } = await mastersFor(slot);
      const proofs = numbersIn(slot, 4);
      expect(await shared.replay.firstSeen(proofs[0] ?? '', expiry(), 'alice')).toBe(true);
      const quota = { limit: 400, route: 'main' };
      const calls: Calls = { passed: 0, refused: 0, failed: 0 };
      let isMoved = false;
      const load = spendUntil(shared, quota, () => isMoved, calls);
      await expect.poll(() => calls.passed).toBeGreaterThan(20);
      const [seen, before] = [[] as boolean[][], calls.passed];
      await moveSlot(cluster, slot, { source, target }, async () => {
        const isNew = (proof: string) => patiently(async () => other.replay.firstSeen(proof, expiry(), 'alice'));
        seen.push(await Promise.all(proofs.map(isNew)));
      });
      await expect.poll(() => calls.passed, { timeout: 10_000 }).toBeGreaterThan(before);
      isMoved = true;
      await load;
      expect((await cluster.masterOf(slot)).port).toBe(target.port);
      // Each once: the first before, the others when nothing had moved, and none later.
      expect(seen).toEqual([[false, true, true, true], ...Array.from({ length: 3 }, () => proofs.map(() => false))]);
      // Calls whose answer was lost count too, so that never more pass than the limit says.
      await spendUntil(shared, quota, () => false, calls);
      expect(calls.passed).toBeLessThanOrEqual(quota.limit);
      expect(calls.passed + calls.failed).toBeGreaterThanOrEqual(quota.limit);
      // The masters are the same.
      expect(told.lines.map(({ problem }) => problem)).not.toContain('another primary has taken over');
    });
  });

  // Last: they leave servers that have ended.
  describe('whose master fails', { shuffle: true }, () => {
    test.for([
      ['killed', 0],
      ['paused', 1],
      ['replaced', 2],
    ] as const)(
      'R-342, R-343: loses what was not replicated at most, after the master was %s under load',
      async ([end, index]) => {
        const told = listener();
        const shared = await replicaAt(url, told);
        const revocations = await connectedRevocations(url);
        const [master, replica] = await cluster.pair(index);
        const route = await routeAt(cluster, master);
        const [proof = ''] = numbersIn(slotOfRoute(route), 1);
        await patiently(async () => shared.replay.firstSeen(proof, expiry(), 'alice'));
        const first = asked('d', { route });
        await patiently(async () => shared.approvals.ask(first));
        await patiently(async () => shared.approvals.decide(route, first.request.id, 'approve'));
        await patiently(async () => shared.approvals.ask(asked('d', { route })));
        await patiently(async () => revocations.store.keep([revocationOf(end)]));

        const quota = { limit: 300, route };
        const calls: Calls = { passed: 0, refused: 0, failed: 0 };
        await spendUntil(shared, quota, () => calls.passed >= 50, calls);
        await cluster.replicated(master);
        await cluster.replicated(await cluster.masterOf(slotOf('{revocations}')));
        const replicated = calls.passed;
        let isOver = false;
        const load = spendUntil(shared, quota, () => isOver, calls);
        await expect.poll(() => calls.passed).toBeGreaterThan(replicated);
        const down = told.until(false);
        if (end === 'killed') await master.kill();
        else if (end === 'paused') master.pause();
        if (end !== 'replaced') await replica.promote();
        else await replica.client.sendCommand(['CLUSTER', 'FAILOVER', 'TAKEOVER']);
        await down;
        const acknowledged = calls.passed - replicated;
        await replica.promoted();
        const begun = performance.now();
        await told.until(true);
        expect(performance.now() - begun).toBeLessThan(5_000);
        isOver = true;
        await load;
        if (end === 'paused') master.resume();

        await spendUntil(shared, quota, () => false, calls);
        expect(calls.passed).toBeLessThanOrEqual(quota.limit + acknowledged);
        const other = await replicaAt(url);
        for (const { replay, ledger, approvals } of [shared, other]) {
          expect(await patiently(async () => replay.firstSeen(proof, expiry(), 'alice'))).toBe(false);
          const verdict = await patiently(async () => ledger.reserve(spend(quota.limit, route)));
          expect(verdict).toMatchObject({ failed: { why: 'check' } });
          const approval = await patiently(async () => approvals.find(route, first.request.id));
          expect(approval).toMatchObject({ status: 'used' });
        }
        const fresh = await connectedRevocations(url);
        await expect.poll(() => [...fresh.known.keys()], { timeout: 10_000 }).toContain(end);
      },
    );
  });
});
