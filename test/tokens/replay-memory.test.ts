import * as fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { createReplayMemory, seenIn } from '../../src/tokens/replay-memory.ts';
import { orReason } from '../support/denial.ts';

let now: number;
const clock = (): number => now;
beforeEach(() => {
  now = 1_700_000_000_000;
});

const callers = ['alice', 'bob', 'carol'];

test('a full memory refuses new keys instead of forgetting live ones', () => {
  const memory = createReplayMemory(clock, 3);
  for (const each of callers) memory.firstSeen(each, now + 5000, each);
  expect(orReason(() => memory.firstSeen('d', now + 5000, 'dave'))).toBe('shared_store.unavailable');
  for (const each of callers) expect(memory.firstSeen(each, now + 5000, each)).toBe(false);
});

test('expired keys make room within a second', () => {
  const memory = createReplayMemory(clock, 3);
  for (const each of callers) memory.firstSeen(each, now + 1500, each);
  now += 2000;
  for (const each of callers) expect(memory.firstSeen(`${each} again`, now + 1500, each)).toBe(true);
});

test('each owner is limited to a tenth of the memory', () => {
  const memory = createReplayMemory(clock, 100);
  for (let i = 0; i < 10; i += 1) expect(memory.firstSeen(`m${i}`, now + 1500, 'mallory')).toBe(true);
  expect(() => memory.firstSeen('m10', now + 1500, 'mallory')).toThrow('10 keys of this owner');
  expect(memory.firstSeen('m0', now + 1500, 'mallory')).toBe(false);
  expect(memory.firstSeen('a', now + 1500, 'alice')).toBe(true);
  now += 2000;
  expect(memory.firstSeen('m10', now + 1500, 'mallory')).toBe(true);
});

test('agrees with a plain map that forgets nothing', () => {
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

test('has room for two keys of different owners at least, however small it is', () => {
  const memory = createReplayMemory(clock, 2);
  expect(memory.firstSeen('a', now + 5000, 'alice')).toBe(true);
  expect(() => memory.firstSeen('b', now + 5000, 'alice')).toThrow('1 keys of this owner');
});

test('a key that has expired is accepted, and takes no room', () => {
  const memory = createReplayMemory(clock, 1);
  expect(memory.firstSeen('a', now, 'alice')).toBe(true);
  expect(memory.firstSeen('a', now, 'alice')).toBe(true);
  expect(memory.firstSeen('b', now + 1, 'bob')).toBe(true);
});

test('beside a store that has accepted a key, a full memory refuses nothing, and a bug stays one', () => {
  const memory = createReplayMemory(clock, 1);
  expect(seenIn(memory, 'a', now + 5000, 'alice')).toBe(false);
  expect(seenIn(memory, 'a', now + 5000, 'alice')).toBe(true);
  expect(seenIn(memory, 'b', now + 5000, 'bob')).toBe(false);
  const bug = new TypeError('ours');
  const broken = {
    firstSeen() {
      throw bug;
    },
  };
  expect(() => seenIn(broken, 'a', now + 5000, 'alice')).toThrow(bug);
});
