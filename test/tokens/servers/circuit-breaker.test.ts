import { beforeEach, describe, expect, test } from 'vitest';
import {
  createCircuitBreaker,
  type AdmittedCall,
  type CircuitBreaker,
} from '../../../src/tokens/servers/circuit-breaker.ts';

let now: number;
let chance: number;
let breaker: CircuitBreaker;
beforeEach(() => {
  now = 1_000_000;
  chance = 0;
  breaker = createCircuitBreaker(
    () => now,
    () => chance,
  );
});

function admitted(): AdmittedCall {
  const call = breaker.admit();
  if (typeof call === 'number') throw new Error(`no call goes for ${call} ms`);
  return call;
}

function fail(times: number, askedMs?: number): void {
  for (let count = 0; count < times; count += 1) admitted().failed(askedMs);
}

test('opens after five consecutive failures', () => {
  fail(4);
  admitted().succeeded();
  fail(4);
  expect(breaker.state()).toBe('closed');
  expect(breaker.waitMs()).toBe(0);
  fail(1);
  expect(breaker.state()).toBe('open');
  expect(breaker.admit()).toBe(1000);
  now += 400;
  expect(breaker.admit()).toBe(600);
});

describe('after the wait', () => {
  beforeEach(() => {
    fail(5);
    now += 1000;
  });

  test('admits one trial call', () => {
    expect(breaker.state()).toBe('half_open');
    admitted();
    expect(Array.from({ length: 100 }, () => breaker.admit())).toEqual(Array.from({ length: 100 }, () => 1000));
  });

  test('closes after a successful trial', () => {
    admitted().succeeded();
    expect(breaker.state()).toBe('closed');
    fail(4);
    expect(breaker.state()).toBe('closed');
    fail(1);
    expect(breaker.admit(), 'the waits begin anew').toBe(1000);
  });

  test('opens for twice as long after a failed trial, up to 30 s', () => {
    const waits: unknown[] = [];
    for (let count = 0; count < 7; count += 1) {
      admitted().failed();
      waits.push(breaker.admit());
      now += breaker.waitMs();
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });
});

test('randomness takes up to half off a wait', () => {
  chance = 0.999;
  fail(5);
  expect(breaker.waitMs()).toBeCloseTo(500, -1);
});

test.each([
  [7000, 7000],
  [10, 1000],
  [86_400_000, 60_000],
])('a requested pause of %i ms becomes %i ms', (askedMs, waitMs) => {
  fail(5, askedMs);
  expect(breaker.waitMs()).toBe(waitMs);
});

describe('a call from before it opened', () => {
  test('changes nothing if it fails late', () => {
    const late = admitted();
    fail(5);
    now += 1000;
    const trial = admitted();
    late.failed();
    expect(breaker.admit(), 'the trial goes on').toBe(1000);
    trial.succeeded();
    expect(breaker.state()).toBe('closed');
  });

  test('closes the circuit if it succeeds late', () => {
    const late = admitted();
    fail(5);
    late.succeeded();
    expect(breaker.state()).toBe('closed');
  });
});

test('after a recovery, the first failure opens it for longer than before', () => {
  breaker.recovered();
  fail(5);
  breaker.recovered();
  expect(breaker.state()).toBe('closed');
  fail(1);
  expect(breaker.admit()).toBe(2000);
  breaker.recovered();
  admitted().succeeded();
  fail(4);
  expect(breaker.state()).toBe('closed');
});

test('a clock that is set back does not keep it open', () => {
  fail(5);
  now -= 3_600_000;
  expect(breaker.state()).toBe('half_open');
  admitted().succeeded();
});
