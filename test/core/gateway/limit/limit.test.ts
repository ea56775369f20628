import { describe, expect, test } from 'vitest';
import { createLimit, type Limit, createRateLimiters } from '../../../../src/core/gateway/limit/limit.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import type { Denial } from '../../../../src/core/model/denial.ts';
import type { RateLimiters } from '../../../../src/core/model/rate-limiter.ts';
import type { Principal } from '../../../../src/core/model/principal.ts';
import { callerKey } from '../../../../src/core/model/caller-key.ts';
import type { Route } from '../../../../src/core/model/route.ts';
import type { CallerRate, Rate } from '../../../../src/core/model/endpoint.ts';
import { orReason } from '../../../support/denial.ts';

const now = 1_800_000_000_000;
const clock = (): number => now;
const one: CallerRate = { requests: 1, perMs: 1000, burst: 1, by: 'subject' };
const from = (client: string): Call => ({ client }) as Call;
function someone(claims: Partial<Principal>): Principal {
  const identity = { issuer: 'https://as.example', subject: undefined, clientId: undefined, ...claims };
  return { ...identity, callerKey: callerKey(identity) } as Principal;
}

const routeOf = (rate: Partial<CallerRate> | undefined, name = 'api'): Route => ({ name, rate }) as Route;
const limiters = (): RateLimiters => createRateLimiters(clock);
const limitOf = (rate: Rate & Partial<CallerRate>, shared = limiters(), name = 'api'): Limit =>
  createLimit(routeOf(rate, name), shared) as Limit;

/** The reason of the refusal of a call, if it is refused. */
const refusal = (limit: Limit, principal: Principal | undefined, client = '192.0.2.1'): unknown =>
  orReason(() => limit(from(client), principal));

test('a route without a rate has no limit stage', () => {
  expect(createLimit(routeOf(undefined), limiters())).toBeUndefined();
});

describe('one caller', () => {
  const alice = someone({ subject: 'alice', clientId: 'app' });
  const others: readonly (readonly [title: string, other: Principal | undefined, same: boolean, client?: string])[] = [
    ['the subject with another token', someone({ subject: 'alice', clientId: 'app' }), true],
    ['by another client and from elsewhere', someone({ subject: 'alice', clientId: 'cli' }), true, '192.0.2.2'],
    ['another subject', someone({ subject: 'bob', clientId: 'app' }), false],
    ['the same name at another issuer', someone({ issuer: 'https://other.example', subject: 'alice' }), false],
    ['a client of that name without subject', someone({ clientId: 'alice' }), false],
    ['nobody', undefined, false],
  ];
  test.for(others)('%s', ([, other, same, client]) => {
    const limit = limitOf(one);
    expect(refusal(limit, alice)).toBeUndefined();
    expect(refusal(limit, other, client)).toBe(same ? 'rate.exceeded' : undefined);
  });

  test('a client where the token has no subject', () => {
    const limit = limitOf(one);
    expect(refusal(limit, someone({ clientId: 'app' }))).toBeUndefined();
    expect(refusal(limit, someone({ clientId: 'app' }), '192.0.2.2')).toBe('rate.exceeded');
    expect(refusal(limit, someone({ clientId: 'cli' }))).toBeUndefined();
  });

  test.each([undefined, someone({})])('the address where there is nothing else (%#)', (principal) => {
    const limit = limitOf(one);
    expect(refusal(limit, principal, '2001:db8::1')).toBeUndefined();
    expect(refusal(limit, principal, '2001:db8::2')).toBe('rate.exceeded');
    expect(refusal(limit, principal, '2001:db8:0:1::1')).toBeUndefined();
  });

  test('counts a token with neither by the address of each call', () => {
    const limit = limitOf(one);
    const machine = someone({});
    expect(refusal(limit, machine, '192.0.2.1')).toBeUndefined();
    expect(refusal(limit, machine, '192.0.2.2')).toBeUndefined();
  });

  test('counts long subjects with a common beginning separately', () => {
    const limit = limitOf(one);
    const long = 'x'.repeat(5000);
    expect(refusal(limit, someone({ subject: `${long}1` }))).toBeUndefined();
    expect(refusal(limit, someone({ subject: `${long}2` }))).toBeUndefined();
    expect(refusal(limit, someone({ subject: `${long}1` }))).toBe('rate.exceeded');
  });

  test('counts each route separately, and keeps its counts over a reload', () => {
    const shared = limiters();
    expect(refusal(limitOf(one, shared, 'a'), alice)).toBeUndefined();
    expect(refusal(limitOf(one, shared, 'b'), alice)).toBeUndefined();
    expect(refusal(limitOf(one, shared, 'a'), alice)).toBe('rate.exceeded');
  });
});

describe('by', () => {
  const issuer = 'https://as.example';
  const agent = { issuer, subject: 'agent' };
  const rows: readonly (readonly [by: CallerRate['by'], one: Partial<Principal>, other: Partial<Principal>, string])[] =
    [
      ['client', { subject: 'alice', clientId: 'app' }, { subject: 'bob', clientId: 'app' }, 'together'],
      ['client', { subject: 'alice', clientId: 'app' }, { subject: 'alice', clientId: 'cli' }, 'apart'],
      ['client', { subject: 'alice' }, { subject: 'alice' }, 'together'],
      ['client', { subject: 'alice' }, { subject: 'bob' }, 'apart'],
      ['actor', { subject: 'alice', actors: [agent] }, { subject: 'bob', clientId: 'x', actors: [agent] }, 'together'],
      ['actor', { subject: 'alice', clientId: 'agent' }, { subject: 'alice', actors: [agent] }, 'apart'],
      ['actor', { subject: 'alice', clientId: 'app' }, { subject: 'bob', clientId: 'app' }, 'together'],
      ['subject', { subject: 'alice', actors: [agent] }, { subject: 'bob', actors: [agent] }, 'apart'],
    ];
  test.for(rows)('%s: %o and %o are counted %s', ([by, first, second, how]) => {
    const limit = limitOf({ ...one, by });
    refusal(limit, someone(first));
    expect(refusal(limit, someone(second))).toBe(how === 'together' ? 'rate.exceeded' : undefined);
  });
});

test.each<readonly [rate: Rate, policy: string, seconds: number]>([
  [{ requests: 100, perMs: 1000, burst: 1 }, '"default";q=100;w=1', 1],
  [{ requests: 1, perMs: 60_000, burst: 1 }, '"default";q=1;w=60', 60],
  [{ requests: 2, perMs: 3_600_000, burst: 1 }, '"default";q=2;w=3600', 1800],
  [{ requests: 7, perMs: 10_000, burst: 1 }, '"default";q=7;w=10', 2],
  // A window of whole seconds with the same rate.
  [{ requests: 50, perMs: 500, burst: 1 }, '"default";q=100;w=1', 1],
  [{ requests: 10, perMs: 1500, burst: 1 }, '"default";q=20;w=3', 1],
  [{ requests: 1, perMs: 1, burst: 1 }, '"default";q=1000;w=1', 1],
  [{ requests: 3, perMs: 999, burst: 1 }, '"default";q=3000;w=999', 1],
])('the refusal says the rate: %o', (rate, policy, seconds) => {
  const limit = limitOf(rate);
  refusal(limit, undefined);
  const denial: Partial<Denial> = {
    reason: 'rate.exceeded',
    detail: `more than ${rate.requests} in ${rate.perMs} ms with a burst of 1`,
    retryAfterSeconds: seconds,
    headers: { 'RateLimit-Policy': policy, RateLimit: `"default";r=0;t=${seconds}` },
  };
  expect(() => limit(from('192.0.2.1'), undefined)).toThrow(expect.objectContaining(denial));
});
