import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { afterAll } from 'vitest';
import { freePort } from './ports.ts';
import type { Redis } from './redis.ts';

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

const command = process.env['SALLYPORT_TEST_STORE'] ?? 'redis-server';

/** A test that ends in the middle leaves no process behind. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

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
  const child = spawn(command, [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'ignore'] });
  running.add(child);
  let said = '';
  while (!said.includes('+monitor')) {
    // oxlint-disable-next-line no-await-in-loop: until it listens
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    said += chunk.toString();
  }
  child.stdout.resume();
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
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      running.delete(child);
    },
  };
}
