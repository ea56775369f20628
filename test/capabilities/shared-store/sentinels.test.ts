import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { StoreError } from '../../../src/ports/store.ts';
import { certificate, pem } from '../../support/certificates.ts';
import { freePort } from '../../support/ports.ts';
import { hasRedis } from '../../support/redis.ts';
import { type Sentinel, startSentinel, startWatchedPair, type WatchedPair } from '../../support/sentinels.ts';
import {
  available,
  closeOpened,
  connected,
  listener,
  opened,
  redisWith,
  problemAt,
  replicaAt,
  revocationOf,
  revocationsAt,
  type Told,
} from './opened.ts';

afterEach(closeOpened);

async function sentinelOf(...about: Parameters<typeof startSentinel>): Promise<Sentinel> {
  const sentinel = await startSentinel(...about);
  opened.push(() => sentinel.close());
  return sentinel;
}

async function watchedPair(): Promise<WatchedPair> {
  const pair = await startWatchedPair();
  opened.push(() => pair.close());
  return pair;
}

/** Lets a sentinel name another primary, until the replica has moved there. */
async function leadTo(next: { readonly port: number }, sentinel: Sentinel, told: Told): Promise<void> {
  const down = told.until(false);
  await sentinel.ask('REMOVE', 'mymaster');
  await sentinel.ask('MONITOR', 'mymaster', '127.0.0.1', String(next.port), '1');
  await down;
  await told.until(true);
}

/** How long each call took that was made until `done`. */
async function timesUntil(done: Promise<unknown>, call: () => Promise<unknown>): Promise<readonly number[]> {
  const state = { isDone: false };
  void done.then(() => (state.isDone = true));
  const times: number[] = [];
  while (!state.isDone) {
    const begun = performance.now();
    await call().catch(() => {});
    times.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return times;
}

describe.skipIf(!hasRedis)('a store that sentinels watch', () => {
  test.for(['killed', 'paused', 'replaced'] as const)(
    'R-338, R-339: is used again within five seconds of a new primary, after the former one was %s',
    async (end) => {
      const pair = await watchedPair();
      const { primary, sentinel, replica, url } = pair;
      const told = listener();
      const shared = await replicaAt(url, told);
      expect(shared.connection()?.serverOf('')).toBe(`127.0.0.1:${primary.port}`);
      const expiry = Date.now() + 300_000;
      expect(await shared.replay.firstSeen('used', expiry, 'alice')).toBe(true);
      await pair.replicated();

      const { port } = await sentinel.nextPrimary();
      const down = told.until(false);
      if (end === 'killed') await primary.kill();
      else if (end === 'paused') primary.pause();
      else await sentinel.ask('FAILOVER', 'mymaster');
      let asked = 0;
      const times = timesUntil(
        port.then(async () => down),
        async () => shared.replay.firstSeen(`asked ${(asked += 1)}`, expiry, 'alice'),
      );
      expect(await port).toBe(replica.port);
      const begun = performance.now();
      await down;
      await told.until(true);
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(Math.max(...(await times))).toBeLessThan(1_000);
      expect(shared.connection()?.serverOf('')).toBe(`127.0.0.1:${replica.port}`);

      // Another process, which has not seen it itself.
      const seen = listener();
      const other = await replicaAt(url, seen);
      expect(await other.replay.firstSeen('used', expiry, 'alice')).toBe(false);
      expect(await other.replay.firstSeen('new', expiry, 'alice')).toBe(true);
      expect(JSON.stringify([told.lines, seen.lines])).not.toContain('s3cr3t');
    },
  );

  test('R-338: refuses a proof while there is no primary, with one log line', async () => {
    const { primary, replica, url } = await watchedPair();
    await replica.kill();
    const told = listener();
    const shared = await replicaAt(url, told);
    await primary.kill();
    await told.until(false);
    for (let n = 0; n < 5; n += 1) {
      await expect(shared.replay.firstSeen(`proof ${n}`, Date.now() + 60_000, 'alice')).rejects.toMatchObject({
        reason: 'shared_store.unavailable',
      });
    }
    expect(told.lines.map(({ msg }) => msg)).toEqual(['shared store available', 'shared store unavailable']);
  });

  test('R-339: is left when the sentinels name another, though it still takes writes', async () => {
    const [former, next] = [await redisWith(), await redisWith()];
    const sentinel = await sentinelOf(former);
    const { connection, told } = await available(`redis+sentinel://${sentinel.host}/mymaster?db=3`);
    await leadTo(next, sentinel, told);
    await connection.run('set', 'x', (client) => client.set('x', 'new'));
    await Promise.all([former, next].map(({ client }) => client.select(3)));
    expect([await former.client.getRange('x', 0, -1), await next.client.getRange('x', 0, -1)]).toEqual(['', 'new']);
  });

  test('R-339: is the newest that is named; a sentinel that was cut off does not lead back to a former one', async () => {
    const [former, next] = [await redisWith(), await redisWith()];
    const cutOff = await sentinelOf(former, ['sentinel config-epoch mymaster 1']);
    const knowing = await startSentinel(next, ['sentinel config-epoch mymaster 2']);
    const { connection, told } = await available(`redis+sentinel://${cutOff.host},${knowing.host}/mymaster`);
    expect(connection.serverOf('')).toBe(`127.0.0.1:${next.port}`);
    await knowing.close();
    const down = told.until(false);
    await next.kill();
    await down;
    await expect.poll(() => connection.state().problem, { timeout: 10_000 }).toContain('name a former primary');
    await expect(connection.run('get', 'x', (client) => client.getRange('x', 0, -1))).rejects.toThrow(StoreError);
    await next.restart();
    const again = await sentinelOf(next, ['sentinel config-epoch mymaster 2']);
    expect(again.host).not.toBe(cutOff.host);
    expect(connection.state().state).toBe('unavailable');
  });

  test('R-338: no password is in what is said of a refusal', async () => {
    const primary = await redisWith('--requirepass', 's3cr3t-of-stores');
    const sentinel = await sentinelOf(primary, [], 's3cr3t-of-sentinels');
    const [, port] = sentinel.host.split(':');
    for (const [rest, problem] of [
      [`:s3cr3t-of-stores@127.0.0.1:${port}/mymaster?sentinel_password=wr%6Fng-s3cr3t`, 'WRONGPASS'],
      [`:wr%6Fng-s3cr3t@127.0.0.1:${port}/mymaster?sentinel_password=s3cr3t-of-sentinels`, 'WRONGPASS'],
      [`:s3cr3t-of-stores@127.0.0.1:${port}/mymaster`, 'NOAUTH'],
      [`:s3cr3t-of-stores@127.0.0.1:${port}/other?sentinel_password=s3cr3t-of-sentinels`, 'No such master'],
      [`:s3cr3t-of-stores@127.0.0.1:1/mymaster?sentinel_password=s3cr3t-of-sentinels`, 'ECONNREFUSED'],
    ] as const)
      await expect.poll(() => problemAt(`redis+sentinel://${rest}`), { timeout: 10_000 }).toContain(problem);
  });

  test('R-338: is reached over TLS, as the sentinels are, and only with a trusted certificate', async () => {
    const files = { 'tls-cert-file': 'server', 'tls-key-file': 'server-key', 'tls-ca-cert-file': 'ca' };
    const tlsOptions = (port: number): string[] => [
      `tls-port ${port}`,
      'tls-auth-clients no',
      'tls-replication yes',
      ...Object.entries(files).map(([option, name]) => `${option} ${certificate(name)}`),
    ];
    const [storePort, sentinelPort] = [await freePort(), await freePort()];
    const redis = await redisWith(...tlsOptions(storePort).flatMap((option) => `--${option}`.split(' ')));
    await sentinelOf({ port: storePort }, tlsOptions(sentinelPort));
    const url = `rediss+sentinel://127.0.0.1:${sentinelPort}/mymaster`;
    const untrusted = connected(url, listener());
    await expect.poll(() => untrusted.state().problem, { timeout: 10_000 }).toContain('certificate');
    const before = getCACertificates();
    setDefaultCACertificates([pem('ca')]);
    opened.push(async () => setDefaultCACertificates(before));
    const { connection } = await available(url);
    await connection.run('set', 'x', (client) => client.set('x', '1'));
    expect(await redis.client.getRange('x', 0, -1)).toBe('1');
    expect(connection.serverOf('')).toBe(`127.0.0.1:${storePort}`);
    const plain = connected(`redis+sentinel://127.0.0.1:${sentinelPort}/mymaster`, listener());
    await expect.poll(() => plain.state().problem, { timeout: 10_000 }).toContain('no sentinel names a primary');
  });

  test('R-340: a new primary gets the revocations that a replica of the gateway knows, and passes on its own', async () => {
    const [former, next] = [await redisWith(), await redisWith()];
    const sentinel = await sentinelOf(former);
    const { connection, told } = await available(`redis+sentinel://${sentinel.host}/mymaster`);
    const own = revocationsAt(connection);
    await own.store.keep([revocationOf('alice')]);
    await expect.poll(() => [...own.known.keys()]).toEqual(['alice']);

    // As many as in the former one: their numbers alone do not tell them apart.
    const elsewhere = revocationsAt((await available(next.url)).connection);
    await elsewhere.store.keep([revocationOf('bob')]);
    await leadTo(next, sentinel, told);
    for (const { known } of [own, elsewhere]) {
      await expect.poll(() => [...known.keys()].toSorted(), { timeout: 10_000 }).toEqual(['alice', 'bob']);
    }
  });
});
