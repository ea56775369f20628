import { expect, test } from 'vitest';
import { isLoopbackAddress, isLoopbackUrl, loopbackHostPattern, loopbackHosts } from '../../src/lib/loopback.ts';

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
