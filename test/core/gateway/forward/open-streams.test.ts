import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Call } from '../../../../src/core/model/call.ts';
import type { CallRight, Grant, HeldToken, PresentedToken, RefusedToken } from '../../../../src/core/model/grant.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import { OpenStream, StreamIndex } from '../../../../src/core/gateway/forward/open-streams.ts';

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

describe('the refusal of a token', () => {
  const token = { scheme: 'bearer', value: 't' } as PresentedToken;
  const right = {
    call: { startedAt: 0 } as Call,
    grant: { principal: { issuer: 'https://a.example' } } as Grant,
    held: { token } as HeldToken,
  } as CallRight;
  const refused = (parts: Partial<RefusedToken> = {}): RefusedToken => ({
    key: 't',
    issuers: ['https://a.example'],
    reason: 'token.inactive',
    isMadeUp: false,
    ...parts,
  });
  const index = (): StreamIndex => new StreamIndex(({ value }) => value, Date.now);

  test.each<[string, Partial<RefusedToken>]>([
    ['another server, at which the caller shows it too', { issuers: ['https://b.example'] }],
    ['an error', { issuers: [], reason: 'gateway.error' }],
  ])('is remembered after a refusal by %s', (_by, later) => {
    const streams = index();
    streams.refuse(refused());
    streams.refuse(refused(later));
    expect(streams.refusalOf(right)).toBe('token.inactive');
  });

  test('is remembered after the refusals of any number of made-up tokens', () => {
    const streams = index();
    streams.refuse(refused());
    for (let key = 0; key <= 20_000; key += 1) streams.refuse(refused({ key: String(key), isMadeUp: true }));
    expect(streams.refusalOf(right)).toBe('token.inactive');
  });

  test('by its signature counts too, although it may be made up', () => {
    const streams = index();
    streams.refuse(refused({ isMadeUp: true, reason: 'token.key' }));
    expect(streams.refusalOf(right)).toBe('token.key');
  });
});
