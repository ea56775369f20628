import { expect, test } from 'vitest';
import { cacheKey, purposeOf } from '../../src/exchange/cache-key.ts';
import type { TokenExchange } from '../../src/model/route.ts';
import { exchangeWith } from './world.ts';

test.each<[string, Partial<TokenExchange>]>([
  ['the endpoint', { endpoint: 'https://as.example/other' }],
  ['our client', { credentials: { clientId: 'other', clientSecret: 's', clientAuth: 'client_secret_post' } }],
  ['audience', { audience: ['b'] }],
  ['an audience more', { audience: ['a', 'b'] }],
  ['the same as resource', { audience: [], resource: ['a'] }],
  ['scope', { scope: ['write'] }],
  ['two scopes that look like one', { scope: ['read4:', 'read'] }],
  ['the type of the subject token', { subjectTokenType: 'jwt' }],
  ['the type asked for', { requestedTokenType: 'jwt' }],
  ['the actor', { actor: 'client_credentials' }],
])('%s makes another purpose', (_, otherwise) => {
  const plain = exchangeWith({ audience: ['a'] });
  expect(purposeOf({ ...plain, ...otherwise })).not.toBe(purposeOf(plain));
});

test('another server makes another purpose', () => {
  const plain = exchangeWith();
  const server = { ...plain.server, issuer: 'https://other.example' };
  expect(purposeOf({ ...plain, server })).not.toBe(purposeOf(plain));
});

test('another token, issuer or purpose makes another key, which shows none of them', () => {
  const keys = [
    cacheKey('p', 't', 'i'),
    cacheKey('p', 'u', 'i'),
    cacheKey('p', 't', 'j'),
    cacheKey('q', 't', 'i'),
    cacheKey('p', '', 'it'),
    cacheKey('p', '1:t', 'i'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/);
});
