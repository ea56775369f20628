import { expect, test } from 'vitest';
import { createUnlistedProxyWarning } from '../../src/limit/unlisted-proxy.ts';
import { readFields } from '../../src/listen/fields.ts';
import type { Call } from '../../src/model/call.ts';

/** The addresses that are warned of, for calls from a peer on behalf of a client. */
function warned(...calls: readonly (readonly [peer: string, client: string, header: string])[]): string[] {
  const addresses: string[] = [];
  const warn = createUnlistedProxyWarning((address) => addresses.push(address));
  for (const [peer, client, header] of calls) {
    warn({ peer, client, fields: readFields(['Host', 'h', header, '192.0.2.1']) } as Call);
  }
  return addresses;
}

test('warns once of each address whose X-Forwarded-For does not count', () => {
  const one = ['10.0.0.1', '10.0.0.1', 'X-Forwarded-For'] as const;
  expect(warned(one, one, ['10.0.0.2', '10.0.0.2', 'X-Forwarded-For'])).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('does not warn of a proxy whose header counts, nor of a client without it', () => {
  expect(warned(['10.0.0.1', '192.0.2.1', 'X-Forwarded-For'], ['10.0.0.1', '10.0.0.1', 'X-Other'])).toEqual([]);
});

test('warns of a hundred addresses at most', () => {
  const calls = Array.from({ length: 200 }, (_, i) => [`10.0.0.${i}`, `10.0.0.${i}`, 'X-Forwarded-For'] as const);
  expect(warned(...calls)).toHaveLength(100);
});
