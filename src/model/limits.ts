import type { Call } from './call.ts';
import type { Rate } from './route.ts';

/** Counts events against one rate. The replicas that share a store count together. */
export interface RateLimiter {
  /** Takes one permit of `key` and returns 0, or returns the milliseconds until there is one. Never rejects. */
  take(key: string): number | Promise<number>;
  /** Returns a permit, without waiting for the store. */
  give(key: string): void;
}

/** Returns the limiter of a rate. Its counts survive a reload: saving the file again does not grant a new burst. */
export type RateLimiters = (counted: CountedEvent, rate: Rate) => RateLimiter;

/** The kinds of counted events. Each has its own memory, so that invalid tokens cannot evict the count of a subject. */
export type CountedEvent = 'requests' | 'failures';

/** A token that the gateway cannot verify itself: it has to ask authorization servers. */
export interface TokenQuestion {
  /** The call that presents it. */
  readonly call: Call;
  /** The issuers of the servers that the gateway asks, joined by spaces. */
  readonly servers: string;
  /** SHA-256 of the token. */
  readonly token: string;
}

/** The limit on invalid tokens, which slows down guessing. */
export interface Failures {
  /**
   * Runs `work`, which asks about an unknown token. An address has no more questions in flight at the same servers than
   * tokens that may still be refused. Further questions wait.
   *
   * @throws {Denial} `failures.exceeded` for an address that exceeds the limit, before anything is asked; and what
   *   `work` throws.
   */
  guard<Value>(question: TokenQuestion, work: () => Promise<Value>): Promise<Value>;
}
