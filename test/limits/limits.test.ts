import { expect, test } from 'vitest';
import { startNoisyClient } from './noisy-client.ts';
import { startWorld } from './world.ts';
import { peakKiB } from '../../bench/machine/process.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** Far above the measurements in `bench/README.md`, far below the memory that the noise takes without limits. */
const GENEROUS_MIB = 700;
/** A client that is refused while it sends may lose the connection before it reads the status. */
const CLOSED = '0';

const world = startBeforeAll(startWorld);

test.each([
  ['1 MB of header fields', ['431']],
  ['100 MB chunked, to be read', ['413']],
  ['100 MB chunked, passed on', ['200']],
  ['JSON that is 10,000 deep', ['400']],
  ['JSON of 100,000 keys', ['400']],
  ['lists of 10,000 tools', ['200']],
  ['1,000 event streams', ['200']],
  ['200 bodies of 1 MB that never end', ['503']],
  ['10,000 tool names called', ['200', '403']],
])('stays within its memory under %s and answers %s', { timeout: 300_000 }, async (name, statuses) => {
  const noise = startNoisyClient(name, world.target);
  await noise.begin();
  const counts = await noise.end();
  noise.close();
  expect(Object.keys(counts).filter((status) => status !== CLOSED)).toEqual(statuses);
  expect(peakKiB(world.gateway.pid) / 1024).toBeLessThan(GENEROUS_MIB);
});

test('uses no value that callers choose as a label of a metric', async () => {
  expect(await world.gateway.series()).toBeLessThan(500);
});
