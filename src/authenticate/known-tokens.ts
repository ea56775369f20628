import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import { Denial, type Reason } from '../model/denial.ts';
import type { PresentedToken } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { KeySource } from './keys.ts';

const keys = new WeakMap<PresentedToken, string>();

/**
 * By what a token is remembered: SHA-256, so that no cache holds what opens a door. Made once for each presented
 * token.
 */
export function tokenKey(token: PresentedToken): string {
  const known = keys.get(token);
  if (known !== undefined) return known;
  const key = hash('sha256', token.value, 'base64url');
  keys.set(token, key);
  return key;
}

/** Bounds memory whatever callers present; a full cache forgets the least recently used. */
const MAX_TOKENS = 20_000;

/** The keys by which a token was verified, and their generation when that began. */
interface VerifiedBy {
  readonly keys: KeySource;
  readonly generation: number;
}

/** Tokens that were found good, by SHA-256. */
export interface VerifiedTokens {
  get(key: string): Principal | undefined;
  /**
   * @param by For a token with a signature: whoever has a stolen key writes any `exp`, so it ends with the key, too.
   */
  set(key: string, principal: Principal, expiresAt: number, by?: VerifiedBy): void;
  delete(key: string): void;
}

/** Creates an empty {@link VerifiedTokens}. */
export function createVerifiedTokens(clock: Clock): VerifiedTokens {
  const tokens = createExpiringCache<{ readonly principal: Principal; readonly by: VerifiedBy | undefined }>(
    MAX_TOKENS,
    clock,
  );
  return {
    get(key) {
      const known = tokens.get(key);
      if (known === undefined || (known.by !== undefined && !known.by.keys.holds(known.by.generation)))
        return undefined;
      return known.principal;
    },
    set(key, principal, expiresAt, by) {
      tokens.set(key, { principal, by }, expiresAt);
    },
    delete: (key) => tokens.delete(key),
  };
}

/** Bounds memory, apart from the tokens that are good: whoever tries made-up ones pushes out nobody's. */
const MAX_REFUSED = 20_000;
/** Longest memory of a refusal: a token that becomes good, or comes back after a fault of the server, waits so long. */
const LONGEST_MS = 5_000;

/** Tokens that a server refused a moment ago, by the same key as those that it did not. */
export interface RefusedTokens {
  /** The refusal, made anew. */
  get(key: string): Denial | undefined;
  remember(key: string, refusal: Denial, cacheMs: number): void;
  forget(key: string): void;
}

/** Creates an empty memory of refused tokens. */
export function createRefusedTokens(clock: Clock): RefusedTokens {
  const refused = createExpiringCache<{ readonly reason: Reason; readonly detail: string }>(MAX_REFUSED, clock);
  return {
    get(key) {
      const known = refused.get(key);
      return known && new Denial(known.reason, known.detail);
    },
    remember(key, { reason, detail }, cacheMs) {
      refused.set(key, { reason, detail }, clock() + Math.min(cacheMs, LONGEST_MS));
    },
    forget: (key) => refused.delete(key),
  };
}
