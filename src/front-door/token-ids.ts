import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { digestOf } from '../core/lib/digest.ts';

/** @module The ids of codes and refresh tokens. */

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
 * @param successor The id of a refresh token that takes the place of another, if it is known before.
 */
export function nameGrants(
  { AuthorizationCode, RefreshToken }: Provider,
  clock: Clock,
  key: string,
  successor: () => string | undefined = () => undefined,
): void {
  for (const model of [AuthorizationCode, RefreshToken]) {
    const { prototype } = model;
    Object.defineProperty(prototype, 'generateTokenId', {
      value(this: Saved): string {
        return (model === RefreshToken ? successor() : undefined) ?? newTokenId(this, clock(), key);
      },
    });
  }
}

/** A new id of a code or a refresh token. */
export function newTokenId({ grantId = '', expiration }: Saved, nowMs: number, key: string): string {
  const expiresAt = Math.floor(nowMs / 1000) + expiration;
  return tokenIdOf([digestOf(grantId), expiresAt.toString(36), randomBytes(16).toString('base64url')], key);
}

/** The id of the refresh token that takes the place of another: all replicas know it. A chain ends at one time. */
export function successorOf(id: string, key: string): string {
  const [grant = '', expiry = ''] = id.split('.');
  const random = createHmac('sha256', key).update(`next ${id}`).digest().subarray(0, 16).toString('base64url');
  return tokenIdOf([grant, expiry, random], key);
}

function tokenIdOf(parts: readonly [grant: string, expiry: string, random: string], key: string): string {
  const named = parts.join('.');
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
