import { afterAll, beforeAll, expect, vi } from 'vitest';
import { openNow, startBed, type Bed } from './bed.ts';
import { complaints, type Excuses } from './judge.ts';
import { kindsOf } from './kinds.ts';
import { startLoad } from './load.ts';

/** A fault: how it begins and ends, and what clients may be told meanwhile. */
export interface Fault {
  readonly excuses: Excuses;
  begin(bed: Bed): unknown;
  end(bed: Bed): unknown;
}

/** How long a fault lasts where some calls do not end before it does. */
const LONGEST_MS = 1_500;
/** Longer than any circuit stays open. */
const CIRCUIT_SECONDS = 31;

/** Survives in a bed of its own, of which nothing is left after. */
export async function survive(fault: Fault): Promise<readonly string[]> {
  const before = openNow();
  const bed = await startBed();
  let wrong: readonly string[];
  try {
    wrong = await endure(bed, fault);
  } finally {
    await bed.close();
  }
  await vi.waitFor(() => expectNoMoreThan(before), 30_000);
  return wrong;
}

/**
 * Serves every kind of call while faults come and go, with a policy tightened in the middle of each. No answer may be
 * wrong, none allowed that is not, none may hang or reach the upstream twice; and no call may be under way after.
 *
 * @returns what was wrong, in words.
 */
export async function endure(bed: Bed, ...faults: readonly Fault[]): Promise<readonly string[]> {
  bed.gateway.log.length = bed.upstream.seen.length = bed.server.issuer.requests.length = 0;
  const reader = await bed.token();
  const load = startLoad(await kindsOf(bed));
  try {
    await load.recovery();
    for (const fault of faults) {
      load.excuse(fault.excuses);
      await fault.begin(bed);
      await load.round(LONGEST_MS);
      await bed.require('admin');
      expect(await editedStatus(bed, reader), 'under a policy tightened in the middle of a fault').toBe(403);
      await fault.end(bed);
      bed.advance(CIRCUIT_SECONDS);
      await load.recovery();
      expect(await editedStatus(bed, reader)).toBe(403);
      await bed.require('read');
      await expect.poll(() => editedStatus(bed, reader), { timeout: 10_000 }).toBe(200);
    }
  } finally {
    await load.stop();
  }
  bed.agent.destroy();
  await vi.waitFor(() => expectIdle(bed), 30_000);
  return complaints(bed, load.ended);
}

/** One bed for the tests of a file, of which nothing may be left after them. */
export function sharedBed(): () => Bed {
  let bed: Bed;
  let before: ReturnType<typeof openNow>;
  beforeAll(async () => {
    before = openNow();
    bed = await startBed();
  });
  afterAll(async () => {
    await bed.close();
    await vi.waitFor(() => expectNoMoreThan(before), 30_000);
  });
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

/** No call is under way any more, for anybody. */
async function expectIdle({ gateway, wires }: Bed): Promise<void> {
  const streams = [...(await gateway.metrics()).matchAll(/^sallyport_open_streams\{.*\} (-?\d+)$/gm)];
  expect(streams.map(([, count]) => Number(count)).filter((count) => count !== 0)).toEqual([]);
  expect(wires.client?.sockets.size, 'connections of clients').toBe(0);
}

/** Nothing is open that was not. */
export function expectNoMoreThan(before: ReturnType<typeof openNow>): void {
  const now = openNow();
  expect(now.sockets).toBeLessThanOrEqual(before.sockets);
  expect(now.servers).toBeLessThanOrEqual(before.servers);
  expect(now.descriptors).toBeLessThanOrEqual(before.descriptors);
}
