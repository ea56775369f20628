import { describe, expect, test } from 'vitest';
import { refused, type Row, top } from './edits.ts';
import { base, loaded } from './folder.ts';

const key = 'session_key: k3y-of-at-least-thirty-two-characters';
const shared = (url: string, more = key): string => top(`shared: ${url}\n${more}`);

describe('shared', () => {
  test.each([
    ['a host alone', 'redis://redis'],
    ['a port', 'redis://127.0.0.1:6379'],
    ['a database', 'redis://redis:6379/15'],
    ['a user and a password, over TLS', 'rediss://gateway:p%2Fw@redis.example:6380/0'],
    ['a password alone', 'redis://:password@[::1]:6379/'],
  ])('%s', async (_title, url) => {
    const config = await loaded({ yaml: shared(url) });
    expect(config.shared).toEqual({ url, onFailure: 'closed' });
  });

  test('on_store_failure', async () => {
    const config = await loaded({ yaml: shared('redis://redis', `on_store_failure: open\n${key}`) });
    expect(config.shared?.onFailure).toBe('open');
  });

  test('from the environment', async () => {
    const config = await loaded({ yaml: shared('${env:STORE}'), env: { STORE: 'redis://:password@redis' } });
    expect(config.shared?.url).toBe('redis://:password@redis');
  });

  test('without it each replica is for itself', async () => {
    expect((await loaded({ yaml: base })).shared).toBeUndefined();
  });
});

describe('shared is refused, and never shown,', () => {
  const notUrl = ':13:9: shared: the value is not a redis:// or rediss:// URL';
  test.each<Row>([
    ['with another scheme', shared('http://u:hunter2@h'), notUrl],
    ['without a scheme', shared('u:hunter2@h'), notUrl],
    [
      'from a secret that is no URL',
      shared('${env:SECRET}'),
      ':13:9: shared: the value is not a redis:// or rediss:// URL',
    ],
    [
      'as a number',
      shared('6379'),
      ':13:9: shared: expected a URL such as redis://user:password@redis:6379/0, found a number',
    ],
    [
      'without a host',
      shared('redis://:hunter2@'),
      ':13:9: shared: the value is not a URL: encode what is special in a password',
    ],
    [
      'with a path',
      shared('redis://:hunter2@h/a/b'),
      ':13:9: shared: the value has a path that is not the number of a database',
    ],
    [
      'with a query',
      shared('redis://h/0?password=hunter2'),
      ':13:9: shared: the value has a query or fragment: encode what is special in a password',
    ],
    [
      'with a # in the password',
      shared('"redis://:hunter2#x@h"'),
      ':13:9: shared: the value is not a URL: encode what is special in a password',
    ],
    [
      'with a bare % in the password',
      shared('redis://:hunter2%@h'),
      ':13:9: shared: the value has a user or password that is not percent-encoded',
    ],
    [
      'with a space',
      shared('"redis://:hunter 2@h"'),
      ':13:9: shared: the value is not a URL: encode what is special in a password',
    ],
    [
      'without session_key',
      shared('redis://:hunter2@h', ''),
      ':13:1: shared: needs session_key: one and the same for all replicas',
    ],
    [
      'that is to do something else on failure',
      shared('redis://h', `on_store_failure: maybe\n${key}`),
      ':14:19: on_store_failure: "maybe" is not closed or open',
    ],
    [
      'that does something on failure without being there',
      top('on_store_failure: open'),
      ':13:1: on_store_failure: without shared there is no store that could fail',
    ],
  ])('%s', async (_title, yaml, ...lines) => {
    const found = await refused(yaml);
    expect(found).toEqual(lines);
    expect(found.join()).not.toContain('hunter');
  });
});
