import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairSemaphore, type FairSemaphore } from '../../../src/tokens/servers/calls.ts';

/** Enters `count` times at once, and says how often at once. */
function crowd(places: FairSemaphore, owner: string, count: number): number {
  const entries = Array.from({ length: count }, () => places.acquire(owner));
  return entries.filter((entry) => entry === undefined).length;
}

test('one owner holds a quarter; its queue is as long as the capacity', () => {
  const places = createFairSemaphore(16);
  expect(crowd(places, 'a', 20)).toBe(4);
  expect(places.acquire('a')).toBe('full');
  expect(places.acquire('b')).toBeUndefined();
});

test('an owner that holds nothing acquires, however much the others hold', () => {
  const places = createFairSemaphore(256);
  for (let owner = 0; owner < 8; owner += 1) crowd(places, `noisy ${owner}`, 300);
  expect(places.acquire('quiet')).toBeUndefined();
});

test('serves waiting owners in turn, not in the order of their requests', async () => {
  const places = createFairSemaphore(4);
  const came: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) expect(places.acquire(name)).toBeUndefined();
  const waiting = [...Array<string>(4).fill('noisy'), 'quiet'].map(async (name) => {
    await places.acquire(name);
    came.push(name);
  });
  places.release('a');
  places.release('b');
  await Promise.all(waiting.slice(0, 1));
  await waiting.at(-1);
  expect(came).toEqual(['noisy', 'quiet']);
});

test('never exceeds its capacity, and serves all that wait', async () => {
  const steps = fc.array(fc.record({ owner: fc.constantFrom('a', 'b', 'c', 'd', 'e'), leaves: fc.boolean() }), {
    maxLength: 200,
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), steps, async (count, list) => {
      const places = createFairSemaphore(count);
      const held: string[] = [];
      let waiting = 0;
      const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      for (const { owner, leaves } of list) {
        if (leaves && held.length > 0) places.release(held.shift() ?? '');
        else {
          const entry = places.acquire(owner);
          if (entry === undefined) held.push(owner);
          else if (entry !== 'full') {
            waiting += 1;
            void entry.then(() => {
              waiting -= 1;
              return held.push(owner);
            });
          }
        }
        await flush();
        expect(held.length).toBeLessThanOrEqual(count);
      }
      while (held.length > 0) {
        places.release(held.shift() ?? '');
        await flush();
      }
      expect(waiting).toBe(0);
      expect(places.acquire('another')).toBeUndefined();
    }),
    { numRuns: 30 },
  );
});
