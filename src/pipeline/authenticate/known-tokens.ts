import { hash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache } from '../../lib/expiring-cache.ts';
import { Denial } from '../../model/denial.ts';
import type { Reason } from '../../model/reasons.ts';
import type { PresentedToken } from '../../model/grant.ts';
import type { Principal } from '../../model/principal.ts';
import type { KeySource } from './keys.ts';

const keys = new WeakMap<PresentedToken, string>();

/**
 * The cache key of a token: SHA-256, so that no cache holds a usable token. Computed once for each presented token,
 * which a connection repeats. A faster hash would save nothing on those requests, and collisions in it would let an
 * attacker make a token with the key of another caller.
 */
export function tokenKey(token: PresentedToken): string {
  const known = keys.get(token);
  if (known !== undefined) return known;
  const key = hash('sha256', token.value, 'base64url');
  keys.set(token, key);
  return key;
}

/** Bounds memory; a full cache evicts the least recently used tokens. */
const MAX_TOKENS = 20_000;
/** The same for tokens with many claims: 20,000 of them may have 3.3 KB each. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The keys that verified a token, and their generation when the verification began. */
interface VerifiedBy {
  readonly keys: KeySource;
  readonly generation: number;
}

/** The cache of valid tokens, by SHA-256. */
export interface VerifiedTokens {
  get(key: string): Principal | undefined;
  /**
   * @param bytes The length of the claims, in any form.
   * @param by The keys of a signed token: it is evicted with its key, since a stolen key can sign any `exp`.
   */
  set(key: string, principal: Principal, expiresAt: number, bytes: number, by?: VerifiedBy): void;
  delete(key: string): void;
  /** Deletes the tokens of these callers, and returns their keys with the issuers. */
  deleteWhere(isMeant: (principal: Principal) => boolean): readonly { readonly key: string; readonly issuer: string }[];
}

/** Creates an empty {@link VerifiedTokens}. */
export function createVerifiedTokens(clock: Clock): VerifiedTokens {
  const tokens = createExpiringCache<{ readonly principal: Principal; readonly by: VerifiedBy | undefined }>(
    MAX_TOKENS,
    clock,
    MAX_BYTES,
  );
  return {
    get(key) {
      const known = tokens.get(key);
      if (known === undefined || (known.by !== undefined && !known.by.keys.holds(known.by.generation)))
        return undefined;
      return known.principal;
    },
    set(key, principal, expiresAt, bytes, by) {
      tokens.set(key, { principal, by }, expiresAt, bytes);
    },
    delete: (key) => tokens.delete(key),
    deleteWhere(isMeant) {
      const deleted: { key: string; issuer: string }[] = [];
      for (const [key, { principal }] of tokens.entries()) {
        if (!isMeant(principal)) continue;
        deleted.push({ key, issuer: principal.issuer });
      }
      for (const { key } of deleted) tokens.delete(key);
      return deleted;
    },
  };
}

/** The length of an introspected principal. One that is nested too deeply to be written is larger than any cache. */
export function introspectedBytes({ claims, introspectionJwt }: Principal): number {
  try {
    return JSON.stringify({ claims, introspectionJwt }).length;
  } catch {
    return Infinity;
  }
}

/** Bounds memory. A cache of its own, so that made-up tokens evict no valid ones. */
const MAX_REFUSED = 20_000;
/** The longest reuse of a refusal: a token that becomes valid again waits at most this long. */
const LONGEST_MS = 5_000;

/** The cache of refused tokens, by SHA-256. */
export interface RefusedTokens {
  /** A new {@link Denial} with the cached reason. */
  get(key: string): Denial | undefined;
  /** @param cacheMs The longest reuse; never more than five seconds. */
  set(key: string, refusal: Denial, cacheMs: number): void;
  delete(key: string): void;
}

/** Creates an empty {@link RefusedTokens}. */
export function createRefusedTokens(clock: Clock): RefusedTokens {
  const refused = createExpiringCache<{ readonly reason: Reason; readonly detail: string }>(MAX_REFUSED, clock);
  return {
    get(key) {
      const known = refused.get(key);
      return known && new Denial(known.reason, known.detail);
    },
    set(key, { reason, detail }, cacheMs) {
      refused.set(key, { reason, detail }, clock() + Math.min(cacheMs, LONGEST_MS));
    },
    delete: (key) => refused.delete(key),
  };
}
