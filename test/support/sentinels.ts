import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { freePort } from './ports.ts';
import { endProcess, type Redis, startProcess } from './redis.ts';

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
  const client = createClient({ url }).on('error', () => {});
  const listening = createClient({ url }).on('error', () => {});
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
