import type { Rate } from './route.ts';

/** Counts what callers do against one rate; the replicas that share a store count together. */
export interface RateLimiter {
  /** Takes one of `key`'s: 0; or the milliseconds until there will be one, and takes nothing. Never rejects. */
  take(key: string): number | Promise<number>;
  /** Gives one back, behind the request. */
  give(key: string): void;
}

/** The limiter of a rate. What is counted outlasts it: a file that is saved again is no way to a new burst. */
export type RateLimiters = (counted: Counted, rate: Rate) => RateLimiter;

/** What is counted; each has a memory of its own, so that strangers who fail push out no limit of a subject. */
export type Counted = 'requests' | 'failures';

/** Slows down whoever guesses. */
export interface Failures {
  /**
   * Runs `work`, which asks about a token that is not known yet. At once no more such are asked about for one address than
   * it may still fail; others wait for them.
   *
   * @throws {Denial} `failures.exceeded` for an address that has failed too often, before anything is asked; and what
   *   `work` throws.
   */
  guard<Value>(client: string, work: () => Promise<Value>): Promise<Value>;
  /** Counts an error that came of a token which is known. */
  count(client: string, error: unknown): void;
}
