import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createClient } from '@redis/client';
import { afterAll } from 'vitest';
import { freePort } from './ports.ts';

/** The server that the tests start. */
const command = process.env['SALLYPORT_TEST_STORE'] ?? 'redis-server';

/** Whether this machine has a Redis, or what `SALLYPORT_TEST_STORE` names: `valkey-server`. */
export const hasRedis = spawnSync(command, ['--version']).status === 0;
if (!hasRedis) process.stdout.write(`skipped: the shared store; there is no ${command}\n`);

/** A real store on loopback, which keeps nothing on disk. */
export interface Redis {
  readonly port: number;
  readonly url: string;
  /** A client beside the gateways', to look and to meddle. */
  readonly client: RedisClient;
  /** Stops the process in the middle of what it does: its socket still accepts connections. */
  pause(): void;
  resume(): void;
  /** As a machine that dies. */
  kill(): Promise<void>;
  /** Comes back empty, at the same address. */
  restart(): Promise<void>;
  /** Every key, and the value of each that holds one. */
  everything(): Promise<ReadonlyMap<string, string>>;
  close(): Promise<void>;
}

/** A client of the tests. */
type RedisClient = ReturnType<typeof patientClient>;

/** A client that waits for a store to come back. */
export function patientClient(url: string) {
  return createClient({ url, socket: { reconnectStrategy: () => 20 } }).on('error', () => {});
}

/** A test that ends in the middle leaves no process behind. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a process of the store, and waits until it says `ready`. */
export async function startProcess(options: readonly string[], ready: string): Promise<ChildProcess> {
  const child = spawn(command, options, { stdio: ['ignore', 'pipe', 'ignore'] });
  running.add(child);
  let said = '';
  while (!said.includes(ready)) {
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    said += chunk.toString();
  }
  child.stdout.resume();
  return child;
}

/** Ends a process as a machine that dies. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  running.delete(child);
}

/** Starts a store. `options` are arguments of its own: `--requirepass secret`. */
export async function startRedis(options: readonly string[] = []): Promise<Redis> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-redis-'));
  const port = await freePort();
  const password = encodeURIComponent(options[options.indexOf('--requirepass') + 1] ?? '');
  const url = `redis://${options.includes('--requirepass') ? `:${password}@` : ''}127.0.0.1:${port}`;
  const client = patientClient(url);
  let server = await run();
  await client.connect();

  function run(): Promise<ChildProcess> {
    const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    return startProcess([...where, '--save', '', '--appendonly', 'no', ...options], 'Ready to accept connections');
  }

  const kill = (): Promise<void> => endProcess(server);

  return {
    port,
    url,
    client,
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    kill,
    async restart() {
      server = await run();
    },
    async everything() {
      const found = new Map<string, string>();
      for await (const keys of client.scanIterator()) {
        for (const key of keys) {
          // A sorted set has members instead of a value.
          const text = (await client.type(key)) === 'zset' ? await client.zRange(key, 0, -1) : await client.get(key);
          found.set(key, String(text));
        }
      }
      return found;
    },
    async close() {
      if (client.isOpen) client.destroy();
      await kill();
    },
  };
}
