import { hash } from 'node:crypto';
import { retryAfterSeconds } from '../../lib/http/header-fields.ts';
import { addressBlock } from '../../lib/ip-address.ts';
import { lengthPrefixed } from '../../lib/digest.ts';
import type { Clock } from '../../lib/clock.ts';
import { createTokenBuckets } from '../../lib/token-buckets.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { CountedEvent, LocalRateLimiters, RateLimiters } from '../../model/rate-limiter.ts';
import type { Principal } from '../../model/principal.ts';
import { actorKey, clientKey } from '../../model/caller-key.ts';
import type { CallerRate, Endpoint, Rate } from '../../model/endpoint.ts';

/** Counts a call. Returns a promise only if it has to ask a store. */
export type Limit = (call: Call, principal: Principal | undefined) => void | Promise<void>;

const MAX_KEY = 200;

const owners: Readonly<Record<CallerRate['by'], ((principal: Principal) => string | undefined) | undefined>> = {
  subject: undefined,
  client: clientKey,
  actor: actorKey,
};

/**
 * Creates the rate limit of a route. It counts by what `by` of the rate names, else by subject, client or address.
 *
 * @returns a function that throws {Denial} `rate.exceeded`; undefined for a route without limit.
 */
export function createLimit(route: Endpoint, limiters: RateLimiters): Limit | undefined {
  const { name, rate } = route;
  if (rate === undefined) return undefined;
  const limiter = limiters('requests', rate);
  const policy = ratePolicy(rate);
  const prefix = lengthPrefixed([name]);
  const ownerKey = owners[rate.by];

  return (call, principal) => {
    const waitMs = limiter.take(keyOf(call, principal));
    if (typeof waitMs !== 'number') return waitMs.then(requireNone);
    return requireNone(waitMs);
  };

  function keyOf(call: Call, principal: Principal | undefined): string {
    const owner = principal && (ownerKey?.(principal) ?? principal.callerKey);
    const key = prefix + (owner ?? lengthPrefixed(['address', addressBlock(call.client)]));
    return key.length > MAX_KEY ? hash('sha256', key, 'base64url') : key;
  }

  function requireNone(waitMs: number): void {
    if (waitMs === 0) return;
    const seconds = retryAfterSeconds(waitMs);
    const { requests, perMs, burst } = rate as Rate;
    throw new Denial('rate.exceeded', `more than ${requests} in ${perMs} ms with a burst of ${burst}`, {
      retryAfterSeconds: seconds,
      // `t` is when the next call is allowed, not when the whole quota is: draft-ietf-httpapi-ratelimit-headers-11
      // §4.1.2.
      headers: { 'RateLimit-Policy': policy, RateLimit: `"default";r=0;t=${seconds}` },
    });
  }
}

/** draft-ietf-httpapi-ratelimit-headers-11 §3.1: the same rate over whole seconds, which is all that `w` can say. */
function ratePolicy({ requests, perMs }: Rate): string {
  const times = 1000 / greatestCommonDivisor(perMs, 1000);
  return `"default";q=${requests * times};w=${(perMs * times) / 1000}`;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

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
