import * as fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { Denial } from '../../src/model/denial.ts';
import { createReplayMemory } from '../../src/shared/memory.ts';

let now: number;
const clock = (): number => now;
beforeEach(() => {
  now = 1_700_000_000_000;
});

test('a key comes for the first time once, until its time has passed', () => {
  const memory = createReplayMemory(clock);
  expect(memory.firstSeen('a', now + 1000)).toBe(true);
  expect(memory.firstSeen('a', now + 1000)).toBe(false);
  expect(memory.firstSeen('b', now + 1000)).toBe(true);
  now += 999;
  expect(memory.firstSeen('a', now + 1000)).toBe(false);
  now += 1;
  expect(memory.firstSeen('a', now + 1000)).toBe(true);
  expect(memory.firstSeen('a', now + 1000)).toBe(false);
});

test('full, it refuses rather than to forget what lives', () => {
  const memory = createReplayMemory(clock, 3);
  for (const key of ['a', 'b', 'c']) memory.firstSeen(key, now + 5000);
  expect(() => memory.firstSeen('d', now + 5000)).toThrow(Denial);
  expect(() => memory.firstSeen('d', now + 5000)).toThrow(
    expect.objectContaining({ reason: 'shared_store.unavailable' }),
  );
  for (const key of ['a', 'b', 'c']) expect(memory.firstSeen(key, now + 5000)).toBe(false);
});

test('what has ended makes room within a second', () => {
  const memory = createReplayMemory(clock, 3);
  for (const key of ['a', 'b', 'c']) memory.firstSeen(key, now + 1500);
  now += 2000;
  for (const key of ['d', 'e', 'f']) expect(memory.firstSeen(key, now + 1500)).toBe(true);
});

test('as a plain map that forgets nothing would say, whatever comes when', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), lives: fc.nat(5000), wait: fc.nat(3000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createReplayMemory(clock);
      const plain = new Map<string, number>();
      for (const { key, lives, wait } of steps) {
        const first = (plain.get(key) ?? 0) <= now;
        if (first) plain.set(key, now + lives);
        expect(memory.firstSeen(key, now + lives)).toBe(first);
        now += wait;
      }
    }),
  );
});
