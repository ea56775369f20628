import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import type { Principal } from '../model/principal.ts';
import type { KeySource } from './keys.ts';

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
  /** @param by For a token with a signature: whoever has a stolen key writes any `exp`, so it ends with the key, too. */
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
