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
  expect(memory.firstSeen('a', now + 1000, 'alice')).toBe(true);
  expect(memory.firstSeen('a', now + 1000, 'alice')).toBe(false);
  expect(memory.firstSeen('b', now + 1000, 'alice')).toBe(true);
  now += 999;
  expect(memory.firstSeen('a', now + 1000, 'alice')).toBe(false);
  now += 1;
  expect(memory.firstSeen('a', now + 1000, 'alice')).toBe(true);
  expect(memory.firstSeen('a', now + 1000, 'alice')).toBe(false);
});

const callers = ['alice', 'bob', 'carol'];

test('full, it refuses rather than to forget what lives', () => {
  const memory = createReplayMemory(clock, 3);
  for (const each of callers) memory.firstSeen(each, now + 5000, each);
  expect(() => memory.firstSeen('d', now + 5000, 'dave')).toThrow(Denial);
  expect(() => memory.firstSeen('d', now + 5000, 'dave')).toThrow(
    expect.objectContaining({ reason: 'shared_store.unavailable' }),
  );
  for (const each of callers) expect(memory.firstSeen(each, now + 5000, each)).toBe(false);
});

test('what has ended makes room within a second', () => {
  const memory = createReplayMemory(clock, 3);
  for (const each of callers) memory.firstSeen(each, now + 1500, each);
  now += 2000;
  for (const each of callers) expect(memory.firstSeen(`${each} again`, now + 1500, each)).toBe(true);
});

test('nobody takes it up for all: a tenth is the most that one owner has', () => {
  const memory = createReplayMemory(clock, 100);
  for (let i = 0; i < 10; i += 1) expect(memory.firstSeen(`m${i}`, now + 1500, 'mallory')).toBe(true);
  expect(() => memory.firstSeen('m10', now + 1500, 'mallory')).toThrow('10 keys of this owner');
  expect(memory.firstSeen('m0', now + 1500, 'mallory')).toBe(false);
  expect(memory.firstSeen('a', now + 1500, 'alice')).toBe(true);
  now += 2000;
  expect(memory.firstSeen('m10', now + 1500, 'mallory')).toBe(true);
});

test('as a plain map that forgets nothing would say, whatever comes when', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), lives: fc.nat(5000), wait: fc.nat(3000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createReplayMemory(clock);
      const plain = new Map<string, number>();
      for (const { key, lives, wait } of steps) {
        const first = (plain.get(key) ?? 0) <= now;
        // To the end of the second.
        if (first && lives > 0) plain.set(key, Math.ceil((now + lives) / 1000) * 1000);
        expect(memory.firstSeen(key, now + lives, 'alice')).toBe(first);
        now += wait;
      }
    }),
  );
});
