import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { hasRedis } from '../support/redis.ts';
import { openNow } from './bed.ts';
import { patience, patient, rounds } from './patience.ts';
import { atRest, endure, expectNoMoreThan, sharedBed } from './survive.ts';
import { wireFault, wireFaults, type WireRow } from './wire-faults.ts';

/** One of each party; a longer test goes through all of them again and again. */
const few: readonly WireRow[] = [
  'upstream: dies within an event',
  'authorization server: is down',
  'shared store: is down',
  'client: resets every connection',
];
const MOST_MIB = 48;

const wireRows = (Object.keys(wireFaults) as WireRow[]).filter((row) => hasRedis || !row.startsWith('shared store'));
const bed = sharedBed();

test.each(wireRows)('%s', patient, async (name) => {
  expect(await endure(bed(), wireFault(name))).toEqual([]);
});

test('all: one fault after another, in one process', patient, async () => {
  await atRest(bed());
  const before = openNow();
  const faults = (rounds > 1 ? wireRows : few.filter((row) => wireRows.includes(row))).map(wireFault);
  let first = 0;
  for (let round = 0; round < rounds; round += 1) {
    expect(await endure(bed(), ...faults)).toEqual([]);
    await atRest(bed());
    await vi.waitFor(() => expectNoMoreThan(before), patience);
    const { gateway, upstream, server } = bed();
    await gateway.clearLog();
    upstream.seen.length = server.issuer.requests.length = 0;
    const now = heapMiB();
    if (round === 0) first = now;
    if (rounds > 1) process.stdout.write(`round ${round}: ${JSON.stringify(openNow())}, ${Math.round(now)} MiB\n`);
    expect(now).toBeLessThan(first + MOST_MIB);
  }
});

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
