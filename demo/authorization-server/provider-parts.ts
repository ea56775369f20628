import { generateKeyPairSync, randomBytes } from 'node:crypto';

import type { Configuration, JWK } from 'oidc-provider';

import { createAdapter } from '../../src/front-door/adapter.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { document, pageHeaders, type Page } from '../../src/front-door/page.ts';

/** The key of the ids of codes and refresh tokens. */
export const tokenKey = randomBytes(32).toString('base64url');

/** What an oidc-provider of the demo keeps: nothing before its start, nothing after its end. */
export function freshState(): Required<Pick<Configuration, 'adapter' | 'cookies' | 'jwks'>> {
  return {
    adapter: createAdapter({
      store: createMemoryStore(Date.now),
      clock: Date.now,
      registrationMs: 90 * 86_400_000,
      tokenKey,
      onRevoked: async () => {},
    }),
    jwks: { keys: [newSigningKey()] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
  };
}

function newSigningKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = randomBytes(8).toString('hex');
  return { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid };
}

/** Answers a request of oidc-provider with a page. */
export function showPage(ctx: { set(headers: Record<string, string>): void; body: unknown }, page: Page): void {
  ctx.set(pageHeaders(page));
  ctx.body = document(page);
}
