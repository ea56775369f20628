import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

/** The rate of refill: `requests` tokens in each `perMs`, up to `burst`. */
interface Refill {
  readonly requests: number;
  readonly perMs: number;
  readonly burst: number;
}

/** Token buckets by key, each full until something is taken from it. */
export interface TokenBuckets {
  /** Takes a token and returns 0. If there is none, takes nothing and returns the milliseconds until there is one. */
  take(key: string, rate: Refill): number;
  /** Gives a token back. */
  give(key: string, rate: Refill): void;
}

/** Rounding errors of fractions add up; they must not cost a whole token. */
const ROUNDING = 1e-9;

/**
 * Creates at most `max` buckets. In any time `t`, a bucket gives at most `burst + requests × t / perMs` tokens.
 *
 * The least recently used bucket is evicted first. A refusal counts as use, so that a key that keeps trying stays. To
 * evict it, a caller must use `max` other keys, and each of them has a burst of its own.
 */
export function createTokenBuckets(max: number, clock: Clock): TokenBuckets {
  // Created with the first bucket: LRUCache allocates room for all of them at once.
  let buckets: LRUCache<string, { taken: number; at: number }> | undefined;
  return {
    take(key, rate) {
      const now = clock();
      const bucket = buckets?.get(key);
      if (bucket === undefined) {
        buckets ??= new LRUCache({ max });
        buckets.set(key, { taken: 1, at: now });
        return 0;
      }
      refill(bucket, now, rate);
      const missing = bucket.taken + 1 - rate.burst;
      if (missing > ROUNDING) return (missing * rate.perMs) / rate.requests;
      bucket.taken += 1;
      return 0;
    },
    give(key, rate) {
      const bucket = buckets?.get(key);
      if (bucket === undefined) return;
      refill(bucket, clock(), rate);
      bucket.taken = Math.max(0, bucket.taken - 1);
    },
  };
}

/** A clock that was set back neither adds nor takes tokens. */
function refill(bucket: { taken: number; at: number }, now: number, { requests, perMs }: Refill): void {
  if (now > bucket.at) bucket.taken = Math.max(0, bucket.taken - ((now - bucket.at) * requests) / perMs);
  bucket.at = now;
}
