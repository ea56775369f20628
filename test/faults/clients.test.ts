import { afterEach, expect, test, vi } from 'vitest';
import { leastPace } from '../../src/listen/slow-bodies.ts';
import { head, open, startWorld } from '../forward/world.ts';
import { patient } from './rows.ts';
import { endure, sharedBed } from './survive.ts';
import { wireFault, wireRows } from './wire-faults.ts';

const bed = sharedBed();
const patience = { timeout: 10_000 };
afterEach(() => void vi.useRealTimers());

test.each(wireRows('client'))('%s', patient, async (name) => {
  expect(await endure(bed(), wireFault(name))).toEqual([]);
});

test('client: sends a body too slowly', patient, async () => {
  // As slowly as the gateway lets it at most: what a window of its own length shows is in test/listen/slow-bodies.test.ts.
  expect(leastPace).toEqual({ windowMs: 30_000, bytes: 4_096 });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const gateway = await startWorld([`name: slow, path: /slow, public: true, upstream: { url: ${bed().upstream.url} }`]);
  const fields = ['Transfer-Encoding: chunked'];
  const client = await open(gateway.url, `${head('POST /slow', ...fields)}1\r\nx\r\n`);
  await expect
    .poll(() => {
      vi.advanceTimersByTime(leastPace.windowMs);
      return client.received();
    }, patience)
    .toMatch(/^HTTP\/1\.1 408 /);
  await expect.poll(client.ended, patience).toBeDefined();
  expect(gateway.decisions().at(-1)).toMatchObject({ allow: false, reason: 'request.timeout' });
  vi.useRealTimers();
  await gateway.close();
});
