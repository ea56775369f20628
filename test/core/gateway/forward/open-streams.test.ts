import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call } from '../../../../src/core/model/call.ts';
import type { Grant, HeldToken } from '../../../../src/core/model/grant.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { OpenStream } from '../../../../src/core/gateway/forward/open-streams.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  [undefined, 1],
  // As a time in milliseconds, it is infinite.
  [1e306, 1],
  [4_000_000_000, 0],
])('a stream whose token expires at %s has its token validated %i times in 30 s', (expiresAt, times) => {
  const revalidate = vi.fn<() => Promise<void>>(async () => {});
  const parts = {
    route: {} as Route,
    call: {} as Call,
    grant: { principal: { expiresAt } } as Grant,
    held: { token: {}, revalidate } as unknown as HeldToken,
    isUpgrade: false,
    end: () => expect.unreachable(),
  };
  const stream = new OpenStream(parts, { add() {}, delete() {} }, () => 0);
  vi.advanceTimersByTime(30_000);
  expect(revalidate).toHaveBeenCalledTimes(times);
  stream.stop();
  vi.advanceTimersByTime(60_000);
  expect(revalidate).toHaveBeenCalledTimes(times);
});
