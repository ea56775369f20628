import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from './ports.ts';
import { endProcess, patientClient, type Redis, startProcess, startRedis } from './redis.ts';

/** A real sentinel on loopback, alone. */
export interface Sentinel {
  /** `host:port`, as a URL of sentinels has it. */
  readonly host: string;
  /** Sends `SENTINEL …`. */
  ask(...command: string[]): Promise<unknown>;
  /** Resolves with the port of the next primary, when the sentinel has moved to it. Listens when it returns. */
  nextPrimary(): Promise<{ readonly port: Promise<number> }>;
  close(): Promise<void>;
}

/** Starts a sentinel that watches `primary` as `mymaster`. */
export async function startSentinel(
  primary: Pick<Redis, 'port'>,
  more: readonly string[] = [],
  password = '',
): Promise<Sentinel> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-sentinel-'));
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor mymaster 127.0.0.1 ${primary.port} 1`,
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 3000',
    ...(password === '' ? [] : [`requirepass ${password}`]),
    ...more,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const child = await startProcess([file, '--sentinel'], '+monitor');
  const url = `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${port}`;
  const [client, listening] = [patientClient(url), patientClient(url)];
  await Promise.all([client.connect(), listening.connect()]);
  return {
    host: `127.0.0.1:${port}`,
    ask: (...words) => client.sendCommand(['SENTINEL', ...words]),
    async nextPrimary() {
      const { promise, resolve } = Promise.withResolvers<number>();
      await listening.subscribe('+switch-master', (message) => resolve(Number(message.split(' ').at(-1))));
      return { port: promise };
    },
    async close() {
      client.destroy();
      listening.destroy();
      await endProcess(child);
    },
  };
}

/** A primary with one replica, and a sentinel that knows both. All have a password. */
export interface WatchedPair {
  readonly primary: Redis;
  readonly replica: Redis;
  readonly sentinel: Sentinel;
  readonly url: string;
  /** Waits until the replica has all that was written. */
  replicated(): Promise<void>;
  close(): Promise<void>;
}

/** Starts them. */
export async function startWatchedPair(): Promise<WatchedPair> {
  const passwords = ['--requirepass', 's3cr3t-of-stores', '--masterauth', 's3cr3t-of-stores'];
  const primary = await startRedis([...passwords, '--repl-diskless-sync-delay', '0']);
  const replica = await startRedis([...passwords, '--replicaof', `127.0.0.1 ${primary.port}`]);
  await expect.poll(() => primary.client.info('replication'), { timeout: 20_000 }).toContain('state=online');
  const login = 'sentinel auth-pass mymaster s3cr3t-of-stores';
  const sentinel = await startSentinel(primary, [login], 's3cr3t-of-sentinels');
  await expect
    .poll(async () => JSON.stringify(await sentinel.ask('REPLICAS', 'mymaster')), { timeout: 20_000 })
    // It knows of the replica, and that the replica follows: it promotes no other.
    .toMatch(new RegExp(`"${replica.port}".*"master-link-status","ok"`));
  return {
    primary,
    replica,
    sentinel,
    url: `redis+sentinel://:s3cr3t-of-stores@${sentinel.host}/mymaster?sentinel_password=s3cr3t-of-sentinels`,
    async replicated() {
      await primary.client.set('marker', '1');
      expect(await primary.client.wait(1, 10_000)).toBe(1);
    },
    async close() {
      await sentinel.close();
      await Promise.all([primary.close(), replica.close()]);
    },
  };
}
