import type { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Clock } from '../lib/clock.ts';
import { createTokenBuckets } from '../lib/token-buckets.ts';
import type { Counted, RateLimiter, RateLimiters } from '../model/limits.ts';
import type { Rate } from '../model/route.ts';
import type { StoreConnection } from './connection.ts';
import type { Sealing } from './sealing.ts';

/** Bounds memory whoever comes: some 15 MB when full. */
const MAX_KEYS = 50_000;

/** Limiters of one process alone, which answer at once. */
interface LocalRateLimiters {
  (counted: Counted, rate: Rate): RateLimiter & { take(key: string): number };
}

/** Creates the limiters of one process; what they count lasts as long as they do. */
export function createRateLimiters(clock: Clock): LocalRateLimiters {
  const buckets = {
    requests: createTokenBuckets(MAX_KEYS, clock),
    failures: createTokenBuckets(MAX_KEYS, clock),
  } as const satisfies Record<Counted, unknown>;
  return (counted, rate) => {
    const kept = buckets[counted];
    return { take: (key) => kept.take(key, rate), give: (key) => kept.give(key, rate) };
  };
}

/**
 * A bucket as `lib/token-buckets.ts` has it, by the store's clock, so that those of the replicas do not matter; in place
 * of the library's own fixed windows, which let twice as much through where two of them meet.
 *
 * ARGV as the library fills it: how many are taken (-1 gives one back), …, the burst, the seconds that refill all of it.
 * Answers how many are gone, more than the burst where none was left, and the milliseconds until one comes back.
 */
const bucketScript = `
local take, burst, perMs = tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[3] / (ARGV[4] * 1000)
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local kept = redis.call('GET', KEYS[1])
local taken = 0
if kept then
  local before, at = string.match(kept, '^(%S+) (%S+)$')
  taken = math.max(0, before - math.max(0, now - at) * perMs)
end
if take > 0 and taken + take > burst + 1e-9 then
  return { burst + 1, math.ceil((taken + take - burst) / perMs) }
end
taken = math.max(0, taken + take)
if taken > 0 then
  redis.call('SET', KEYS[1], string.format('%.9f %.3f', taken, now), 'PX', math.ceil(taken / perMs))
else
  redis.call('DEL', KEYS[1])
end
return { math.ceil(taken - 1e-9), 0 }
`;

/** The script sets its own expiry; the library must only not see a duration below a second. */
const options = { customDuration: 1 };

/** Creates limiters that all replicas share by `connection`; while it is away, each goes on with its `local` ones. */
export function createSharedRateLimiters(
  connection: StoreConnection,
  sealing: Sealing,
  local: LocalRateLimiters,
): RateLimiters {
  // Not before it is needed: a gateway without a shared store starts without it.
  const library = import('rate-limiter-flexible');
  return (counted, rate) => {
    const alone = local(counted, rate);
    const limiter = library.then(
      ({ RateLimiterRedis: Redis }): RateLimiterRedis =>
        new Redis({
          storeClient: connection.client,
          useRedisPackage: true,
          rejectIfRedisNotReady: true,
          keyPrefix: '',
          points: rate.burst,
          duration: (rate.burst * rate.perMs) / rate.requests / 1000,
          customIncrTtlLuaScript: bucketScript,
        }),
    );
    const place = (key: string): string => sealing.place(`rate:${counted}`, key);
    return {
      async take(key) {
        try {
          await (await limiter).consume(place(key), 1, options);
          return 0;
        } catch (error) {
          const { RateLimiterRes } = await library;
          return error instanceof RateLimiterRes ? Math.max(1, error.msBeforeNext) : alone.take(key);
        }
      },
      give(key) {
        limiter.then((there) => there.reward(place(key), 1, options)).catch(() => alone.give(key));
      },
    };
  };
}
