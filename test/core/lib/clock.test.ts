import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Deadline } from '../../../src/core/lib/clock.ts';

const day = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('at a deadline', () => {
  test.each([
    ['one that has passed', -1, 0],
    ['now', 0, 0],
    ['soon', 1500, 1500],
    ['beyond what a timer holds', 60 * day, 60 * day],
  ])('%s', (_what, at, after) => {
    let acted = 0;
    void new Deadline(at, () => (acted += 1), Date.now);
    vi.advanceTimersByTime(Math.max(after - 1, 0));
    expect(acted).toBe(after === 0 ? acted : 0);
    vi.advanceTimersByTime(2);
    expect(acted).toBe(1);
    vi.advanceTimersByTime(100 * day);
    expect(acted).toBe(1);
  });

  test('Infinity never fires', () => {
    new Deadline(Infinity, () => expect.unreachable(), Date.now).cancel();
    vi.advanceTimersByTime(1000 * day);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('can be cancelled, also after its timer was armed again', () => {
    const deadline = new Deadline(60 * day, () => expect.unreachable(), Date.now);
    vi.advanceTimersByTime(40 * day);
    deadline.cancel();
    vi.advanceTimersByTime(40 * day);
  });
});
