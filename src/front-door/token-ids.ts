import { hash, randomBytes } from 'node:crypto';
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
 * Has each code and each refresh token name its grant and its expiry, besides 256 random bits. A used one is then known
 * without a record: one that has no record and has not expired. Records of used tokens would be kept for two weeks, in
 * any number.
 */
export function nameGrants({ AuthorizationCode, RefreshToken }: Provider, clock: Clock): void {
  for (const { prototype } of [AuthorizationCode, RefreshToken]) {
    Object.defineProperty(prototype, 'generateTokenId', {
      value(this: Saved): string {
        const expiresAt = Math.floor(clock() / 1000) + this.expiration;
        const random = randomBytes(32).toString('base64url');
        return [digestOf(this.grantId ?? ''), expiresAt.toString(36), random].join('.');
      },
    });
  }
}

/** The digest of the grant that an id names; undefined for an expired one, and for any other text. */
export function usedGrant(id: string, nowMs: number): string | undefined {
  const [, grant, expiry = ''] = /^([\w-]{43})\.([0-9a-z]{1,8})\.[\w-]{43}$/.exec(id) ?? [];
  return grant !== undefined && Number.parseInt(expiry, 36) * 1000 > nowMs ? grant : undefined;
}
