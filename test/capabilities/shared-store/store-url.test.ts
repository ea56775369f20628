import { expect, test } from 'vitest';
import { readClusterUrl, readSentinelUrl } from '../../../src/capabilities/shared-store/store-url.ts';

test('the URL of sentinels names them, the primary, and a password for each kind', () => {
  const url = 'rediss+sentinel://u:p%40ss@[::1]:1,h2/my%20master?db=3&sentinel_username=s&sentinel_password=x+y%2Bz%3D';
  expect(readSentinelUrl(url)).toEqual({
    hosts: [
      { host: '::1', port: 1 },
      { host: 'h2', port: 26_379 },
    ],
    name: 'my master',
    database: 3,
    isTls: true,
    username: 'u',
    password: 'p@ss',
    sentinelUsername: 's',
    sentinelPassword: 'x+y+z=',
  });
});

test('the sentinels have no password unless they are given one', () => {
  const address = readSentinelUrl('redis+sentinel://:secret@h1/m');
  expect(address).toMatchObject({ isTls: false, database: 0, username: undefined, password: 'secret' });
  expect(address.sentinelPassword).toBeUndefined();
});

test('the URL of a cluster names some of its servers', () => {
  expect(readClusterUrl('rediss+cluster://u:p%40ss@[::1]:1,h2')).toEqual({
    hosts: [
      { host: '::1', port: 1 },
      { host: 'h2', port: 6379 },
    ],
    isTls: true,
    username: 'u',
    password: 'p@ss',
  });
  expect(readClusterUrl('redis+cluster://h1:7000')).toMatchObject({ isTls: false, password: undefined });
});
