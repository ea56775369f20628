/**
 * How long one step of the shared ledger blocks the store, when it is full and when all of it has ended.
 *
 *     node bench/store.ts [CALLS] [cluster]
 *
 * A call leaves two entries: 250,000 calls of 10 callers fill the ledger. The store is a `redis-server` of its own, with
 * `cluster` one that has all slots of a cluster.
 *
 * @module
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';
import type { Reservation } from '../src/policy-parts/history/ledger.ts';
import { connectStore } from '../src/capabilities/shared-store/connection.ts';
import { createSharedLedger } from '../src/capabilities/history/stored-ledger.ts';
import { ledgerScripts } from '../src/capabilities/history/ledger-scripts.ts';
import { createMemoryLedger } from '../src/policy-parts/history/memory-ledger.ts';
import { createSealing } from '../src/capabilities/shared-store/sealing.ts';
import { startProgram } from './machine/process.ts';
import { median, quantile } from './statistics.ts';
import { markdownTable, type Line } from './table.ts';

const calls = Number(process.argv[2] ?? 250_000);
const HOUR = 3_600_000;
const isCluster = process.argv[3] === 'cluster';

const folder = await mkdtemp(join(tmpdir(), 'sallyport-store-'));
const socket = join(folder, 'socket');
const command = ['redis-server', '--port', '0', '--unixsocket', socket, '--save', '', '--dir', folder];
const server = startProgram(
  [...command, ...(isCluster ? ['--cluster-enabled', 'yes', '--cluster-port', '20999'] : [])],
  'other',
);
// Connects once the server listens.
const client = createClient({ socket: { path: socket, tls: false } }).on('error', () => {});
await client.connect();
if (isCluster) {
  await client.clusterAddSlotsRange({ start: 0, end: 16_383 });
  while (!(await client.clusterInfo()).includes('cluster_state:ok')) await setTimeout(100);
}
await client.configSet({ 'slowlog-max-len': '100000', 'slowlog-log-slower-than': '0' });

/** The ledger of replicas, by a clock that is set. */
const scripts = {
  ...ledgerScripts,
  reserve: ledgerScripts.reserve.replace("redis.call('TIME')", "{ redis.call('GET', 'now') / 1000, 0 }"),
};
const setClock = (ms: number): Promise<unknown> => client.set('now', String(ms));
const connection = {
  run: (_: unknown, _key: string, command: (to: never) => Promise<unknown>) => command(client as never),
  state: () => ({ state: 'available' }),
} as unknown as ReturnType<typeof connectStore>;
const ledger = createSharedLedger({
  connection,
  sealing: createSealing('k3y-of-at-least-thirty-two-characters'),
  local: createMemoryLedger(() => performance.now()),
  onFailure: 'closed',
  scripts,
});

let made = 0;
/** A call with a quota of its caller and one of all callers. */
function next(amount = 1, limit = 1e9): Reservation {
  const owner = `caller-${made % 10}`;
  const tracks = [owner, 'all'];
  made += 1;
  return {
    id: String(made),
    route: 'main',
    owner,
    checks: tracks.map((track) => ({ kind: 'quota', track, amount, limit })),
    entries: tracks.map((track) => ({ track, amount, keepMs: HOUR })),
    isShadow: false,
    continues: undefined,
  };
}

const lines: Line[] = [];

/** Adds the steps that the store has taken since the last time to the table. */
async function report(what: string): Promise<void> {
  const entries = await client.sendCommand(['SLOWLOG', 'GET', '-1']);
  const took = (entries as unknown as [number, number, number, string[]][])
    .filter(([, , , [name = '']]) => /^(?:eval|evalsha|del)$/i.test(name))
    .map(([, , micros]) => micros / 1000);
  const cells = { 'median ms': median(took).toFixed(2), 'worst ms': quantile(took, 1).toFixed(2) };
  lines.push({ subject: what, cells });
  await client.sendCommand(['SLOWLOG', 'RESET']);
}

await setClock(1_000_000);
const BATCH = 500;
for (let done = 0; done < calls; done += BATCH) {
  // Over half of the hour, so that nothing ends.
  await setClock(1_000_000 + Math.floor((done / calls) * (HOUR / 2)));
  const reserved = Array.from({ length: BATCH }, () => next());
  const verdicts = await Promise.all(reserved.map(async (each) => ledger.reserve(each)));
  if (verdicts.some(({ passed }) => !passed)) throw new Error('a call was refused');
  await Promise.all(reserved.map(async ({ id }) => ledger.settle(id, 'answered', 'main')));
}
await report(`counting, up to ${2 * calls} entries`);
for (let index = 0; index < 100; index += 1) await ledger.reserve(next((index + 1) * (calls / 1000), calls / 10));
await report('a refusal that names the time to wait');
// The first half has ended, then all.
for (const ms of [HOUR * 1.25, HOUR * 2]) {
  await setClock(1_000_000 + ms);
  for (let index = 0; index < 10; index += 1) await ledger.reserve(next());
  await report(`the first calls after ${ms === HOUR * 2 ? 'all' : 'half'} entries have ended`);
}

await client.flushDb();
made = 0;
await setClock(1_000_000);
for (let done = 0; done < calls / 5; done += BATCH) {
  await Promise.all(Array.from({ length: BATCH }, async () => ledger.reserve(next())));
}
const keys: string[] = [];
for await (const found of client.scanIterator({ MATCH: '*:history*', COUNT: 1000 })) keys.push(...found);
const sizes = await Promise.all(keys.map(async (key) => client.hLen(key)));
await client.sendCommand(['SLOWLOG', 'RESET']);
for (const key of keys.filter((_, index) => (sizes[index] ?? 0) > 500)) await client.del(key);
await report(`a key with up to ${Math.max(...sizes)} fields expires`);

console.log(markdownTable(lines));
client.destroy();
await server.stop();
await rm(folder, { recursive: true });
