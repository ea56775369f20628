import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressBlock, plainAddress } from '../../src/lib/ip-address.ts';
import { property } from '../support/property.ts';

describe('addressBlock', () => {
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
  ])('%s is %s: %s', (address, block) => {
    expect(addressBlock(address)).toBe(block);
  });
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
