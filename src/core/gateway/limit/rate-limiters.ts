import type { Clock } from '../../lib/clock.ts';
import { createTokenBuckets } from '../../lib/token-buckets.ts';
import type { CountedEvent, LocalRateLimiters } from '../../model/shared.ts';

/** Bounds memory; about 15 MB when full. */
const MAX_KEYS = 50_000;

/** Creates the limiters of one process. Their counts live as long as they do. */
export function createRateLimiters(clock: Clock): LocalRateLimiters {
  const buckets = {
    requests: createTokenBuckets(MAX_KEYS, clock),
    failures: createTokenBuckets(MAX_KEYS, clock),
  } as const satisfies Record<CountedEvent, unknown>;
  return (counted, rate) => {
    const kept = buckets[counted];
    return { take: (key) => kept.take(key, rate), give: (key) => kept.give(key, rate) };
  };
}
