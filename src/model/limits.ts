import type { Call } from './call.ts';
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

/** A token that the gateway cannot judge itself: authorization servers have to be asked about it. */
export interface TokenQuestion {
  /** The call that presents it. */
  readonly call: Call;
  /** The servers that are asked, as one name. */
  readonly servers: string;
  /** SHA-256 of the token. */
  readonly token: string;
}

/** Slows down guessing at tokens. */
export interface Failures {
  /**
   * Runs `work`, which asks about a token that is not known yet. The address has no more questions in flight at the same
   * servers than tokens that may still be refused; further ones wait.
   *
   * @throws {Denial} `failures.exceeded` for an address that exceeds the limit, before anything is asked; and what `work`
   *   throws.
   */
  guard<Value>(question: TokenQuestion, work: () => Promise<Value>): Promise<Value>;
}
