import * as fc from 'fast-check';
import { BlockList, isIPv4 } from 'node:net';
import { describe, expect, test } from 'vitest';
import { hostName, InvalidValue, network } from '../../../src/core/config/values.ts';
import { refused, refuses, top } from './edits.ts';
import { base, loaded } from './folder.ts';
import { property } from '../../support/property.ts';
import { wordsIn } from '../../support/words-in.ts';

describe('trusted_proxies', () => {
  refuses(`
top trusted_proxies: [ proxy]
  :13:20: trusted_proxies[0]: "proxy" is neither an address nor a network such as 10.0.0.0/8
top trusted_proxies: 10.0.0.1 → :13:18: trusted_proxies: expected a list, found a string; put it in [ ]
top trusted_proxies: [10.0.0.0.0]
  :13:19: trusted_proxies[0]: "10.0.0.0.0" is neither an address nor a network such as 10.0.0.0/8
top trusted_proxies: [10.0.0.0/8/8]
  :13:19: trusted_proxies[0]: "10.0.0.0/8/8" is neither an address nor a network such as 10.0.0.0/8
top trusted_proxies: [10.0.0.0/33] → :13:19: trusted_proxies[0]: "10.0.0.0/33" has a prefix length that is not 0 to 32
top trusted_proxies: [10.0.0.0/08] → :13:19: trusted_proxies[0]: "10.0.0.0/08" has a prefix length that is not 0 to 32
top trusted_proxies: ["fd00::/129"] → :13:19: trusted_proxies[0]: "fd00::/129" has a prefix length that is not 0 to 128
top trusted_proxies: [10.1.2.3/8]
  :13:19: trusted_proxies[0]: "10.1.2.3/8" has bits beyond its prefix: write the address of the network, or the address without a prefix
top trusted_proxies: ["::ffff:10.0.0.1"]
  :13:19: trusted_proxies[0]: "::ffff:10.0.0.1" is an IPv4 address: write it in dotted form
top trusted_proxies: [10.0.0.1, 10.0.0.1] → :13:29: trusted_proxies[1]: is listed twice
`);

  test('certificate_proxies is a list of its own, which no other list implies', async () => {
    const yaml = top('trusted_proxies: [10.0.0.1]\nforward_auth: { listen: "127.0.0.1:8081", trusted: [10.0.0.2] }');
    expect((await loaded({ yaml })).certificateProxies).toEqual([]);
    const listed = await loaded({ yaml: top('certificate_proxies: [10.0.0.3, "fd00::/8"]') });
    expect(listed).toMatchObject({ trustedProxies: [], certificateProxies: ['10.0.0.3', 'fd00::/8'] });
    expect(await refused(top('certificate_proxies: [proxy]'))).toHaveLength(1);
  });

  test('accepts addresses and networks of both families and placeholders; by default there are none', async () => {
    expect((await loaded({ yaml: base })).trustedProxies).toEqual([]);
    const yaml = top('trusted_proxies: [192.0.2.7, 10.0.0.0/8, "::1", "FD00::/8", 0.0.0.0/0, "${env:POD_NETWORK}"]');
    const { trustedProxies } = await loaded({ yaml, env: { POD_NETWORK: '172.16.0.0/12' } });
    expect(trustedProxies).toEqual(wordsIn`192.0.2.7 10.0.0.0/8 ::1 fd00::/8 0.0.0.0/0 172.16.0.0/12`);
  });
});

describe('network', () => {
  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((text) => !/^[0:]*ffff:/i.test(text)),
  );

  property('accepts every address, alone and as a network of one address', [address], (text) => {
    const size = isIPv4(text) ? 32 : 128;
    expect(network(text)).toBe(text.toLowerCase());
    expect(network(`${text}/${size}`)).toBe(`${text.toLowerCase()}/${size}`);
  });

  property(
    'returns networks that Node accepts and that begin with their own address',
    [address, fc.integer({ min: 0, max: 130 })],
    (text, prefix) => {
      let found: string;
      try {
        found = network(`${text}/${prefix}`);
      } catch (error) {
        if (error instanceof InvalidValue) return;
        throw error;
      }
      const [start = '', size] = found.split('/');
      const family = isIPv4(start) ? 'ipv4' : 'ipv6';
      const list = new BlockList();
      list.addSubnet(start, Number(size), family);
      expect(list.check(start, family)).toBe(true);
    },
  );

  test.each(['', ...wordsIn`/ /8 x 10.0.0.0/ 10.0.0.0/-1 10.0.0.0/1e1 ::/x fe80::1%eth0 ::ffff:a00:1/128 01.2.3.4`])(
    'refuses %j',
    (text) => expect(() => network(text)).toThrow(InvalidValue),
  );
});

test.each([
  ['Gateway.Internal', 'gateway.internal'],
  ['[::1]', '[::1]'],
])('allowed_hosts: accepts %s', (text, expected) => {
  expect(hostName(text)).toBe(expected);
});

test.each(['gateway:8080', 'http://gateway', '[nonsense]', ''])('allowed_hosts: refuses %j', (text) => {
  expect(() => hostName(text)).toThrow('host name');
});
