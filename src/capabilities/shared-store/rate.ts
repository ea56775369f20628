import type { LocalRateLimiters, RateLimiters } from '../../core/model/rate-limiter.ts';
import type { Sealing, StoreConnection } from '../../ports/store.ts';

/**
 * A bucket as in `lib/token-buckets.ts`, by the clock of the store, so that the clocks of the replicas do not matter.
 *
 * ARGV: how many tokens to take (-1 gives one back), then the rate: `requests`, `perMs`, `burst`. Returns 0, or, if
 * there are too few, takes nothing and returns the milliseconds until there are enough.
 */
const bucketScript = `
local take, burst, perMs = tonumber(ARGV[1]), tonumber(ARGV[4]), ARGV[2] / ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local kept = redis.call('GET', KEYS[1])
local taken = 0
if kept then
  local before, at = string.match(kept, '^(%d+%.%d+) (%d+%.%d+)$')
  before, at = tonumber(before or 0), tonumber(at or 0)
  taken = math.max(0, math.min(before, burst) - math.max(0, now - at) * perMs)
  -- What no replica wrote, with a later time or without an end, must not refuse for longer than a full bucket does.
  if at > now or redis.call('PTTL', KEYS[1]) < 0 then
    redis.call('SET', KEYS[1], string.format('%.9f %.3f', taken, now), 'PX', math.max(1, math.ceil(taken / perMs)))
  end
end
if take > 0 and taken + take > burst + 1e-9 then
  return math.max(1, math.ceil((taken + take - burst) / perMs))
end
taken = math.max(0, taken + take)
if taken > 0 then
  redis.call('SET', KEYS[1], string.format('%.9f %.3f', taken, now), 'PX', math.ceil(taken / perMs))
else
  redis.call('DEL', KEYS[1])
end
return 0
`;

/**
 * Creates limiters that all replicas share by `connection`. While it is away, each replica uses its `local` limiters.
 */
export function createSharedRateLimiters(
  connection: StoreConnection,
  sealing: Sealing,
  local: LocalRateLimiters,
): RateLimiters {
  return (counted, rate) => {
    const alone = local(counted, rate);

    async function change(key: string, tokens: 1 | -1): Promise<number> {
      const place = sealing.place(`rate:${counted}`, key);
      const args = [tokens, rate.requests, rate.perMs, rate.burst].map(String);
      return Number(
        await connection.run('rate', place, (client) => client.eval(bucketScript, { keys: [place], arguments: args })),
      );
    }

    return {
      async take(key) {
        if (connection.state().state === 'unavailable') return alone.take(key);
        return change(key, 1).catch(() => alone.take(key));
      },
      give(key) {
        if (connection.state().state === 'unavailable') alone.give(key);
        else change(key, -1).catch(() => alone.give(key));
      },
    };
  };
}
