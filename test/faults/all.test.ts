import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { hasRedis } from '../support/redis.ts';
import { openNow, startBed } from './bed.ts';
import { patient, rounds } from './rows.ts';
import { endure, expectNoMoreThan } from './survive.ts';
import { wireFault, wireFaults, type WireRow } from './wire-faults.ts';

/** One of each party; a longer test goes through all of them again and again. */
const few: readonly WireRow[] = [
  'upstream: dies within an event',
  'authorization server: is not there',
  'shared store: is not there',
  'client: resets every connection',
];
const MOST_MIB = 48;

test('all: one after another, in one process', patient, async () => {
  const bed = await startBed();
  const before = openNow();
  const all = rounds > 1 ? (Object.keys(wireFaults) as WireRow[]) : few;
  const faults = all.filter((row) => hasRedis || !row.startsWith('shared store')).map(wireFault);
  let first = 0;
  for (let round = 0; round < rounds; round += 1) {
    expect(await endure(bed, ...faults)).toEqual([]);
    // Idle connections to the others are kept for some seconds.
    await vi.waitFor(() => expectNoMoreThan(before), 20_000);
    bed.gateway.log.length = bed.upstream.seen.length = bed.server.issuer.requests.length = 0;
    const now = heapMiB();
    if (round === 0) first = now;
    if (rounds > 1) process.stdout.write(`round ${round}: ${JSON.stringify(openNow())}, ${Math.round(now)} MiB\n`);
    expect(now).toBeLessThan(first + MOST_MIB);
  }
  await bed.close();
});

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
