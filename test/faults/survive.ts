import { afterAll, beforeAll, expect, vi } from 'vitest';
import { openNow, startBed, type Bed } from './bed.ts';
import { complaints, type Excuses } from './judge.ts';
import { kindsOf } from './kinds.ts';
import { createLoad } from './load.ts';
import { patience } from './patience.ts';

/** A fault: how it begins and ends, and the answers that clients may get meanwhile. */
export interface Fault {
  readonly excuses: Excuses;
  begin(bed: Bed): unknown;
  end(bed: Bed): unknown;
}

/** Longer than any circuit stays open. */
const CIRCUIT_SECONDS = 31;

/**
 * Serves every kind of call while faults come and go, with a policy tightened in the middle of each. No answer may be
 * wrong, none allowed that is not, none may hang or reach the upstream twice; and no call may be under way after.
 *
 * @returns what was wrong, in words.
 */
export async function endure(bed: Bed, ...faults: readonly Fault[]): Promise<readonly string[]> {
  await bed.gateway.clearLog();
  bed.upstream.seen.length = bed.server.issuer.requests.length = 0;
  const reader = await bed.token();
  const load = createLoad(await kindsOf(bed));
  const recovery = (): Promise<void> => load.recovery(() => bed.advance(CIRCUIT_SECONDS));
  try {
    await recovery();
    for (const fault of faults) {
      await load.begin();
      load.excuse(fault.excuses);
      await fault.begin(bed);
      await load.round();
      await bed.require('admin');
      expect(await editedStatus(bed, reader), 'under a policy tightened in the middle of a fault').toBe(403);
      // By now circuits are open.
      await load.round();
      await fault.end(bed);
      bed.advance(CIRCUIT_SECONDS);
      await recovery();
      expect(await editedStatus(bed, reader)).toBe(403);
      await bed.require('read');
      await expect.poll(() => editedStatus(bed, reader), patience).toBe(200);
    }
  } finally {
    await load.over();
  }
  bed.agent.destroy();
  await vi.waitFor(() => expectIdle(bed), patience);
  return complaints(bed, load.ended);
}

/** One bed for the tests of a file, of which nothing may be left after them. */
export function sharedBed(): () => Bed {
  let bed: Bed;
  let before: ReturnType<typeof openNow>;
  beforeAll(async () => {
    before = openNow();
    bed = await startBed();
  }, patience.timeout);
  afterAll(async () => {
    await bed.close();
    await vi.waitFor(() => expectNoMoreThan(before), patience);
  }, 2 * patience.timeout);
  return () => bed;
}

/** Beside the wire of the clients, which may be the one that fails. */
async function editedStatus({ gateway }: Bed, token: string): Promise<number> {
  const { status, body } = await fetch(`${gateway.url}/edited`, {
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
  });
  await body?.cancel();
  return status;
}

/** Asserts that no call is in flight. */
async function expectIdle({ gateway, wires }: Bed): Promise<void> {
  const streams = [...(await gateway.metrics()).matchAll(/^sallyport_open_streams\{.*\} (-?\d+)$/gm)];
  expect(streams.map(([, count]) => Number(count)).filter((count) => count !== 0)).toEqual([]);
  expect(wires.client?.sockets.size, 'connections of clients').toBe(0);
}

/** The gateway keeps no connection to others but the one to the shared store, which both sides of its wire have. */
export async function atRest({ gateway, wires, redis }: Bed): Promise<void> {
  await vi.waitFor(async () => {
    expect(wires.upstream?.sockets.size, 'connections to the upstream').toBe(0);
    expect(wires['authorization server']?.sockets.size, 'connections to the authorization server').toBe(0);
    if (redis === undefined) return;
    expect(await gateway.ready()).toMatchObject({ shared_store: { state: 'available' } });
    expect(wires['shared store']?.sockets.size, 'connections to the shared store').toBe(2);
  }, patience);
}

/** Nothing is open that was not. */
export function expectNoMoreThan(before: ReturnType<typeof openNow>): void {
  const now = openNow();
  expect(now.sockets).toBeLessThanOrEqual(before.sockets);
  expect(now.servers).toBeLessThanOrEqual(before.servers);
  expect(now.descriptors).toBeLessThanOrEqual(before.descriptors);
}
