import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addressBlock,
  isLoopbackAddress,
  isLoopbackUrl,
  loopbackHostPattern,
  loopbackHosts,
  plainAddress,
} from '../../../src/core/lib/ip-address.ts';
import { property } from '../../support/property.ts';

test.each([
  ['192.0.2.1', '192.0.2.1', 'an IPv4 address'],
  ['::ffff:192.0.2.1', '192.0.2.1', 'the same on a socket of both families'],
  ['::ffff:c000:201', '192.0.2.1', 'the same in hex'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', 'the /64 of an IPv6 address'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64', 'its first'],
  ['2001:DB8:0001:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64', 'its last, spelt otherwise'],
  ['2001:db8::1', '2001:db8:0:0::/64', 'zeros left out'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64', 'zeros left out elsewhere'],
  ['::1', '0:0:0:0::/64', 'loopback'],
  ['::', '0:0:0:0::/64', 'nothing but zeros'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'with a zone'],
  ['unknown', 'unknown', 'no address'],
  ['a:b', 'a:b', 'no address, with a colon'],
  ['', '', 'nothing'],
])('addressBlock: %s is %s: %s', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});

test('two IPv6 addresses share a block exactly if their first 64 bits are equal', () => {
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
  const text = (address: readonly number[]): string => address.map((group) => group.toString(16)).join(':');
  fc.assert(
    fc.property(groups, groups, fc.boolean(), (one, other, alike) => {
      const second = alike ? [...one.slice(0, 4), ...other.slice(4)] : other;
      const same = one.slice(0, 4).join() === second.slice(0, 4).join();
      fc.pre(!text(one).startsWith('0:0:0:0:0:ffff') && !text(second).startsWith('0:0:0:0:0:ffff'));
      expect(addressBlock(text(one)) === addressBlock(text(second))).toBe(same);
    }),
  );
});

property('never throws', [fc.oneof(fc.string(), fc.ipV6(), fc.ipV4())], (text) => {
  expect(addressBlock(text)).toBeTypeOf('string');
});

test.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1', '192.0.2.1'],
  ['::1', '::1'],
  ['::ffff:0:192.0.2.1', '::ffff:0:192.0.2.1'],
  ['', ''],
])('the plain form of %s is %s', (address, plain) => {
  expect(plainAddress(address)).toBe(plain);
});

test.each([
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['172.18.0.1', false],
  ['::ffff:172.18.0.1', false],
  ['fe80::1%eth0', false],
  ['0.0.0.0', false],
  ['::', false],
  ['', false],
])('the address %s is on loopback: %s', (address, expected) => {
  expect(isLoopbackAddress(address)).toBe(expected);
});

test.each([
  ['http://localhost:9000', true],
  ['https://LOCALHOST/x', true],
  ['http://127.0.0.1', true],
  ['http://127.0.0.2:1/x', true],
  ['http://127.1', true],
  ['http://[::1]:9000', true],
  ['http://localhost.example', false],
  ['http://127.0.0.1.example', false],
  ['http://[::2]', false],
  ['http://[::ffff:127.0.0.1]', false],
  ['https://as.example', false],
])('the URL %s leads to this machine: %s', (url, expected) => {
  expect(isLoopbackUrl(url)).toBe(expected);
});

test('the pattern matches the hosts of loopback alone', () => {
  const pattern = new RegExp(`^${loopbackHostPattern}$`);
  expect(loopbackHosts.filter((host) => !pattern.test(host))).toEqual([]);
  expect(['127x0.0.1', '127.0.0.2', '::1', ':', 'localhost.', ''].filter((host) => pattern.test(host))).toEqual([]);
});
