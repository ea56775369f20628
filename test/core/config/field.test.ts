import { describe, expect, test } from 'vitest';
import { openedConfig } from '../../support/opened-config.ts';

const limitsOf = (text: string) => openedConfig(text).root.get('routes').items()[0]?.get('upstream').get('concurrency');

describe('the settings of a mapping', () => {
  test('have each value in the form of its schema, under the name that code uses', () => {
    const { root } = openedConfig('revocation: { keep: 2d, file: a.jsonl, events: {} }');
    expect(root.get('revocation').settings()).toEqual({ keepMs: 172_800_000, file: '/etc/sallyport/a.jsonl' });
  });

  test('have the defaults of the schema', () => {
    const limits = limitsOf('routes: [{ upstream: { concurrency: { calls: 3 } } }]');
    expect(limits?.settings()).toEqual({ calls: 3, queue: 0, waitMs: 2000 });
  });

  test('do not exist without the mapping, unless the mapping has a default', () => {
    expect(limitsOf('routes: [{}]')?.settings()).toBeUndefined();
    expect(openedConfig('{}').root.get('limits').settings()).toMatchObject({
      requestBodyBytes: 1_048_576,
      idleMs: 75_000,
    });
  });

  test('have an empty value in the place of a required one that is absent or wrong', () => {
    const { root, problems } = openedConfig('authorization_servers: { main: { issuer: "ftp://as" } }\npublic_url: 1');
    expect(root.get('authorization_servers').entries()[0]?.[1].settings()?.issuer).toBe('');
    expect(limitsOf('routes: [{ upstream: { concurrency: {} } }]')?.settings()?.calls).toBe(0);
    expect(problems()).toEqual([expect.stringContaining('is not an http(s) URL')]);
  });

  test('have no item of a list that is wrong or there twice', () => {
    const { root, problems } = openedConfig('trusted_proxies: [10.0.0.0/8, 10.0.0.1/8, "::1", "::1"]');
    expect(root.get('trusted_proxies').value()).toEqual(['10.0.0.0/8', '::1']);
    expect(problems()).toEqual([
      expect.stringContaining('trusted_proxies[1]: "10.0.0.1/8" has bits beyond its prefix'),
      expect.stringContaining('trusted_proxies[3]: is listed twice'),
    ]);
  });
});
