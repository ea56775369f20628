import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenBuckets } from '../../../src/core/lib/token-buckets.ts';
import { property } from '../../support/property.ts';

let now = 0;
const clock = (): number => now;
const rate = (requests: number, perMs: number, burst: number) => ({ requests, perMs, burst });

/** How many are there now. */
function drain(take: () => number): number {
  let taken = 0;
  while (take() === 0) taken += 1;
  return taken;
}

test('gives a burst, then one token for each that refills', () => {
  const buckets = createTokenBuckets(10, clock);
  const take = (): number => buckets.take('k', rate(100, 1000, 200));
  expect(drain(take)).toBe(200);
  expect(take()).toBeCloseTo(10);
  now += 9;
  expect(take()).toBeCloseTo(1);
  now += 1;
  expect(drain(take)).toBe(1);
  now += 1000;
  expect(drain(take)).toBe(100);
  now += 3_600_000;
  expect(drain(take)).toBe(200);
});

test('fractions of tokens add up to whole ones', () => {
  const buckets = createTokenBuckets(10, clock);
  const take = (): number => buckets.take('k', rate(3, 10_000, 3));
  expect(drain(take)).toBe(3);
  for (let passed = 0; passed < 10_000; passed += 1) {
    now += 1;
    expect(take() === 0).toBe((passed + 1) % 10_000 === 3334 || (passed + 1) % 10_000 === 6667 || passed === 9999);
  }
});

test('keys have separate buckets, and each take names its rate', () => {
  const buckets = createTokenBuckets(10, clock);
  expect(drain(() => buckets.take('a', rate(1, 1000, 3)))).toBe(3);
  expect(drain(() => buckets.take('b', rate(1, 1000, 2)))).toBe(2);
});

test('a token that is given back is available again, up to the burst', () => {
  const buckets = createTokenBuckets(10, clock);
  const take = (): number => buckets.take('k', rate(1, 1000, 3));
  buckets.give('k', rate(1, 1000, 3));
  expect(drain(take)).toBe(3);
  buckets.give('k', rate(1, 1000, 3));
  expect(drain(take)).toBe(1);
  for (let times = 0; times < 10; times += 1) buckets.give('k', rate(1, 1000, 3));
  expect(drain(take)).toBe(3);
});

test('a clock that is set back an hour does not delay the refill by an hour', () => {
  const buckets = createTokenBuckets(10, clock);
  const take = (): number => buckets.take('k', rate(1, 1000, 1));
  expect(drain(take)).toBe(1);
  now -= 3_600_000;
  expect(take()).toBe(1000);
  now += 1000;
  expect(take()).toBe(0);
});

describe('a full store', () => {
  test('evicts the least recently used key', () => {
    const buckets = createTokenBuckets(2, clock);
    const one = rate(1, 1000, 1);
    expect([buckets.take('a', one), buckets.take('b', one), buckets.take('c', one)]).toEqual([0, 0, 0]);
    expect(buckets.take('c', one)).toBe(1000);
    expect(buckets.take('a', one)).toBe(0);
  });

  test('keeps a key that keeps trying', () => {
    const buckets = createTokenBuckets(100, clock);
    const one = rate(1, 3_600_000, 1);
    const answers: number[] = [];
    for (let other = 0; other < 10_000; other += 1) {
      if (other % 50 === 0) answers.push(buckets.take('limited', one));
      buckets.take(`other ${other}`, one);
    }
    expect(answers.filter((waitMs) => waitMs === 0)).toEqual([0]);
  });
});

describe('in any time t no more than burst + requests × t / per passes', () => {
  const rates = fc.record({
    requests: fc.integer({ min: 1, max: 1000 }),
    perMs: fc.integer({ min: 1, max: 100_000 }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  /** Pauses in ms, some with fractions, and how often is asked after each. */
  const steps = fc.array(
    fc.tuple(fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.double({ min: 0, max: 50, noNaN: true })), fc.nat(60)),
    { maxLength: 60 },
  );

  property(
    'at any times of the takes',
    [rates, steps],
    (refill, asked) => {
      const buckets = createTokenBuckets(10, clock);
      const passed: number[] = [];
      for (const [pause, times] of asked) {
        now += pause;
        for (let time = 0; time < times; time += 1) if (buckets.take('k', refill) === 0) passed.push(now);
      }
      let over = 0;
      for (const [first, begin] of passed.entries()) {
        for (const [later, end] of passed.slice(first).entries()) {
          const most = refill.burst + (refill.requests * (end - begin)) / refill.perMs;
          over = Math.max(over, later + 1 - most);
        }
      }
      expect(over).toBeLessThan(1e-3);
    },
    { numRuns: 200 },
  );

  property(
    'a caller that waits for the returned time gets a token',
    [rates, fc.integer({ min: 1, max: 100 })],
    (refill, times) => {
      const buckets = createTokenBuckets(10, clock);
      for (let time = 0; time < times; time += 1) {
        const waitMs = buckets.take('k', refill);
        if (waitMs === 0) continue;
        now += Math.ceil(waitMs);
        expect(buckets.take('k', refill)).toBe(0);
      }
    },
  );
});
