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

/** Whether it refuses the token itself: an outage, for one, says nothing of it. */
export function isRefusal(error: unknown): error is Denial {
  return error instanceof Denial && error.reason.startsWith('token.');
}
