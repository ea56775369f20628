import type { IncomingMessage } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { type Admission, createAdmission, MAX_ADDRESSES } from '../../src/front-door/admission.ts';
import { createTokenBuckets } from '../../src/lib/token-buckets.ts';

let admission: Admission;
beforeEach(() => {
  admission = createAdmission(
    createTokenBuckets(MAX_ADDRESSES, () => 0),
    [],
  );
});

const from = (address: string, method = 'POST'): IncomingMessage =>
  ({ method, socket: { remoteAddress: '127.0.0.1' }, headers: { 'x-forwarded-for': address } }) as never;
/** How many of `count` requests pass. */
const passing = (count: number, path: string, addressOf: (index: number) => string, method = 'POST'): number =>
  Array.from({ length: count }, (_each, index) => admission.waitMs(from(addressOf(index), method), path)).filter(
    (waitMs) => waitMs === 0,
  ).length;

test.each([
  ['sign-ins of one address', '/authorize', 320, () => '203.0.113.7', 300],
  ['sign-ins of two', '/authorize', 640, (index: number) => `203.0.113.${index % 2}`, 600],
  ['sign-outs of one address', '/sign-out', 320, () => '203.0.113.7', 300],
  ['registrations of one IPv6 network', '/register', 110, (index: number) => `2001:db8:7::${index + 1}`, 100],
  ['registrations of a /48', '/register', 1_200, (index: number) => `2001:db8:9:${index % 13}::1`, 1_000],
  ['exchanges of codes', '/token', 1_000, () => '203.0.113.7', 1_000],
])('of %s at %s, the first pass', (_what, path, count, addressOf, passes) => {
  expect(passing(count, path, addressOf)).toBe(passes);
  expect(admission.waitMs(from('198.51.100.1'), path), 'another address').toBe(0);
});

test('a preflight does not count', () => {
  expect(passing(400, '/register', () => '203.0.113.7', 'OPTIONS')).toBe(400);
});
