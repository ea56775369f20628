import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import { Denial, type Reason } from '../model/denial.ts';

/** Bounds memory, apart from the tokens that are good: whoever tries made-up ones pushes out nobody's. */
const MAX_REFUSED = 20_000;
/** Longest memory of a refusal: a token that becomes good, or comes back after a fault of the server, waits so long. */
const LONGEST_MS = 5_000;

/** Tokens that a server refused a moment ago, by the same key as those that it did not. */
export interface RefusedTokens {
  /** The refusal, made anew. */
  get(key: string): Denial | undefined;
  /** Keeps a refusal of the token itself; false: anything else, an outage above all, says nothing of it and is not kept. */
  remember(key: string, error: unknown, cacheMs: number): boolean;
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
    remember(key, error, cacheMs) {
      if (!(error instanceof Denial && error.reason.startsWith('token.'))) return false;
      const { reason, detail } = error;
      refused.set(key, { reason, detail }, clock() + Math.min(cacheMs, LONGEST_MS));
      return true;
    },
    forget: (key) => refused.delete(key),
  };
}
