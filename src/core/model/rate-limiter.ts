import type { Rate } from './endpoint.ts';

/** Counts events against one rate. The replicas that share a store count together. */
export interface RateLimiter {
  /** Takes one permit of `key` and returns 0, or returns the milliseconds until there is one. Never rejects. */
  take(key: string): number | Promise<number>;
  /** Returns a permit, without waiting for the store. */
  give(key: string): void;
}

/** Returns the limiter of a rate. Its counts survive a reload: saving the file again does not grant a new burst. */
export type RateLimiters = (counted: CountedEvent, rate: Rate) => RateLimiter;

/** The limiters of one process, which answer at once. */
export type LocalRateLimiters = (counted: CountedEvent, rate: Rate) => RateLimiter & { take(key: string): number };

/** The kinds of counted events. Each has its own memory, so that invalid tokens cannot evict the count of a subject. */
export type CountedEvent = 'requests' | 'failures';
