import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Admission, createAdmission, MAX_BUCKETS } from '../../src/front-door/admission.ts';
import { createTokenBuckets } from '../../src/core/lib/token-buckets.ts';

const rate = (requests: number, burst: number) => ({ requests, perMs: 60_000, burst });
const limits = { sign_ins: rate(60, 600), registrations: rate(60, 300), requests: rate(3_000, 6_000) };

let admission: Admission;
beforeEach(() => {
  admission = admissionOf(limits);
});

const admissionOf = (of: Partial<typeof limits>): Admission =>
  createAdmission(
    { limits: { sign_ins: undefined, registrations: undefined, requests: undefined, ...of }, gatewaySecret: 's-3%+' },
    [],
    createTokenBuckets(MAX_BUCKETS, () => 0),
  );
const from = (address: string, { method = 'POST', authorization }: Partial<Sent> = {}): IncomingMessage => {
  const headers = { 'x-forwarded-for': address, ...(authorization !== undefined && { authorization }) };
  return { method, socket: { remoteAddress: '127.0.0.1' }, headers } as never;
};
interface Sent {
  readonly method: string;
  readonly authorization: string;
}
/** How many of `count` requests pass. */
const passing = (count: number, path: string, addressOf: (index: number) => string, sent?: Partial<Sent>): number =>
  Array.from({ length: count }, (_each, index) => admission.excess(from(addressOf(index), sent), path)).filter(
    (excess) => excess === undefined,
  ).length;
const oneAddress = (): string => '203.0.113.7';

test.each([
  ['sign-ins of one address', '/authorize', 620, oneAddress, 600],
  ['sign-ins of two', '/authorize', 1_240, (index: number) => `203.0.113.${index % 2}`, 1_200],
  ['sign-outs of one address', '/sign-out', 620, oneAddress, 600],
  ['registrations of one IPv6 network', '/register', 310, (index: number) => `2001:db8:7::${index + 1}`, 300],
  ['registrations of a /48', '/register', 3_300, (index: number) => `2001:db8:9:${index % 13}::1`, 3_000],
])('of %s at %s, the first pass', (_what, path, count, addressOf, passes) => {
  expect(passing(count, path, addressOf)).toBe(passes);
  expect(admission.excess(from('198.51.100.1'), path), 'another address').toBeUndefined();
});

test.each([
  '/token',
  '/introspect',
  '/revoke',
  '/jwks',
  '/.well-known/oauth-authorization-server',
  '/interaction/x',
  '/callback/x',
  '/approval',
  '/authorize/x',
  '/sign-out/confirm',
])('%s counts for the limit of requests', (path) => {
  admission = admissionOf({ requests: rate(1, 2) });
  expect(passing(5, path, oneAddress)).toBe(2);
  expect(admission.excess(from(oneAddress()), '/jwks')).toEqual({ limit: 'requests', waitMs: 60_000 });
});

test('the page of codes counts as a sign-in, and what a person types there as a request', () => {
  admission = admissionOf({ sign_ins: rate(1, 2), requests: rate(1, 3) });
  expect(passing(5, '/device', oneAddress, { method: 'GET' })).toBe(2);
  expect(passing(5, '/device', oneAddress, { method: 'HEAD' })).toBe(0);
  expect(passing(5, '/device', oneAddress)).toBe(3);
});

test('a preflight does not count', () => {
  expect(passing(700, '/register', oneAddress, { method: 'OPTIONS' })).toBe(700);
});

test('a limit that is off refuses nothing', () => {
  admission = admissionOf({});
  expect(passing(7_000, '/token', oneAddress)).toBe(7_000);
});

describe('an introspection', () => {
  const basic = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

  test.each([
    ['of the gateway does not count', basic('gateway', 's-3%25%2B'), 5],
    ['of the gateway with each character encoded does not count', basic('gateway', '%73%2D3%25%2B'), 5],
    ['with another secret counts', basic('gateway', 's-4'), 2],
    ['of another client counts', basic('desk', 's-3%25%2B'), 2],
    ['with broken credentials counts', 'Basic %%%', 2],
  ])('%s', (_what, authorization, passes) => {
    admission = admissionOf({ requests: rate(1, 2) });
    expect(passing(5, '/introspect', oneAddress, { authorization })).toBe(passes);
  });

  test('of the gateway is no reason to admit it elsewhere', () => {
    admission = admissionOf({ requests: rate(1, 2) });
    expect(passing(5, '/token', oneAddress, { authorization: basic('gateway', 's-3%25%2B') })).toBe(2);
  });
});
