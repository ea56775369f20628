import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { Clock } from '../lib/clock.ts';

/** The key of a token in the store, and its name in messages to the gateway. */
export function digestOf(id: string): string {
  return hash('sha256', id, 'base64url');
}

/** The members of a code or a refresh token that its id is made of. */
interface Saved {
  readonly grantId?: string;
  /** Seconds. */
  readonly expiration: number;
}

/**
 * Has each code and each refresh token name its grant and its expiry, besides 128 random bits and a MAC. A used one is
 * then known without a record: one that has no record and has not expired. Records of used tokens would be kept for two
 * weeks, in any number. Without the MAC, an attacker with an old code could forge one that ends its grant.
 *
 * @param key What only this authorization server knows, on all replicas.
 */
export function nameGrants({ AuthorizationCode, RefreshToken }: Provider, clock: Clock, key: string): void {
  for (const { prototype } of [AuthorizationCode, RefreshToken]) {
    Object.defineProperty(prototype, 'generateTokenId', {
      value(this: Saved): string {
        return newTokenId(this, clock(), key);
      },
    });
  }
}

/** A new id of a code or a refresh token. */
export function newTokenId({ grantId = '', expiration }: Saved, nowMs: number, key: string): string {
  const expiresAt = Math.floor(nowMs / 1000) + expiration;
  const random = randomBytes(16).toString('base64url');
  const named = [digestOf(grantId), expiresAt.toString(36), random].join('.');
  return `${named}.${macOf(named, key)}`;
}

/** The digest of the grant that an id names; undefined for an expired one, and for any text that was no id. */
export function usedGrant(id: string, nowMs: number, key: string): string | undefined {
  const [, named, grant, expiry = '', mac = ''] =
    /^(([\w-]{43})\.([0-9a-z]{1,8})\.[\w-]{22})\.([\w-]{43})$/.exec(id) ?? [];
  if (named === undefined || Number.parseInt(expiry, 36) * 1000 <= nowMs) return undefined;
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(named, key))) ? grant : undefined;
}

function macOf(named: string, key: string): string {
  return createHmac('sha256', key).update(`token ${named}`).digest('base64url');
}
