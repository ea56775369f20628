import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

/** `requests` come back in each `perMs`, up to `burst`. */
interface Refill {
  readonly requests: number;
  readonly perMs: number;
  readonly burst: number;
}

/** Token buckets by key, each full until something is taken from it. */
export interface TokenBuckets {
  /** Takes one: 0; or the milliseconds until one will be there, and takes nothing. */
  take(key: string, rate: Refill): number;
  /** Puts one back. */
  give(key: string, rate: Refill): void;
}

/** Fractions of tokens add up with an error; it must not cost a whole one. */
const ROUNDING = 1e-9;

/**
 * Creates at most `max` buckets. In any time `t` one lets `burst + requests × t / perMs` through and no more.
 *
 * What was asked for least recently is forgotten first, and a refusal is asking: a key that keeps trying stays. To free
 * it, `max` others have to be used, of which each one is worth a burst of its own.
 */
export function createTokenBuckets(max: number, clock: Clock): TokenBuckets {
  // From the first one on: room for all of them is taken at once.
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

/** A clock that was set back takes nothing away and gives nothing. */
function refill(bucket: { taken: number; at: number }, now: number, { requests, perMs }: Refill): void {
  if (now > bucket.at) bucket.taken = Math.max(0, bucket.taken - ((now - bucket.at) * requests) / perMs);
  bucket.at = now;
}
