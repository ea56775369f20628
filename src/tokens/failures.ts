import { retryAfterSeconds } from '../core/lib/http/header-fields.ts';
import type { Clock } from '../core/lib/clock.ts';
import { createExpiringCache } from '../core/lib/expiring-cache.ts';
import { addressBlock } from '../core/lib/ip-address.ts';
import { createSingleFlight } from '../core/lib/single-flight.ts';
import type { Call } from '../core/model/call.ts';
import { Denial, isTokenDenial } from '../core/model/denial.ts';
import type { Failures, TokenQuestion } from '../ports/shared.ts';
import type { RateLimiters } from '../core/model/rate-limiter.ts';
import type { Rate } from '../core/model/endpoint.ts';

/** The most refused tokens that are remembered. Only a token that was counted is added, so one address adds few. */
const MAX_REFUSED = 50_000;

interface InFlight {
  asking: number;
  /** In the order of arrival. A set, because removing the first of a long array takes time in its length. */
  readonly waiting: Set<() => void>;
}

interface FailuresParts {
  readonly limiters: RateLimiters;
  readonly clock: Clock;
  /** Warns of an address that exceeds the limit and may be a proxy that is not trusted. */
  readonly warnOfProxy: (address: string) => void;
}

/** The limit of a configuration without `limits.failures`: it refuses nothing. */
export const unlimitedFailures: Failures = { guard: (_question, work) => work() };

/**
 * Creates the limit of failures. It counts the different tokens that were refused, for each address and each set of
 * servers that are asked.
 *
 * A question takes a permit before it is asked, and returns it unless its token is refused. So parallel guesses get
 * exactly as many answers as guesses in a row. A question without a permit waits while questions in flight may still
 * return theirs. Many callers with good tokens behind one address are slowed down and never refused.
 *
 * Each set of servers has its own permits: while one server hangs, the questions to it hold no permits of another.
 * Counting after the answer would need no permits. But it would let parallel guesses pass the limit, again each time a
 * permit is returned.
 *
 * A token that was refused before counts in a second bucket of the same size. A client that repeats one expired token
 * counts once, and yet cannot make the gateway ask without end if `cache: 0s` disables the cache.
 */
export function createFailures(rate: Rate | undefined, { limiters, clock, warnOfProxy }: FailuresParts): Failures {
  if (rate === undefined) return unlimitedFailures;
  const limiter = limiters('failures', rate);
  /** The time in which the whole bucket refills. */
  const windowMs = (rate.burst * rate.perMs) / rate.requests;
  const questions = new Map<string, InFlight>();
  const warn = createUnlistedProxyWarning(warnOfProxy);
  const refused = createExpiringCache<object>(MAX_REFUSED, clock);

  const once = createSingleFlight<unknown>();

  return {
    guard<Value>({ call, servers, token }: TokenQuestion, work: () => Promise<Value>): Promise<Value> {
      const bucketOfNew = `${addressBlock(call.client)} ${servers}`;
      const presented = `${bucketOfNew} ${token}`;
      // One token from one address takes one permit, however often it is presented in the meantime.
      return once(presented, () => {
        const bucket = refused.get(presented) === undefined ? bucketOfNew : `again ${bucketOfNew}`;
        return withPermit(bucket, call, work, () => refused.set(presented, {}, clock() + windowMs));
      }) as Promise<Value>;
    },
  };

  async function withPermit(
    bucket: string,
    call: Call,
    work: () => Promise<unknown>,
    onRefused: () => void,
  ): Promise<unknown> {
    const inFlight = await enter(bucket, call);
    let isRefused = false;
    try {
      return await work();
    } catch (error) {
      isRefused = isTokenDenial(error);
      throw error;
    } finally {
      if (isRefused) onRefused();
      else limiter.give(bucket);
      leave(bucket, inFlight, isRefused);
    }
  }

  async function enter(bucket: string, call: Call): Promise<InFlight> {
    for (;;) {
      const waitMs = await limiter.take(bucket);
      const inFlight = questions.get(bucket);
      if (waitMs === 0) {
        const entered = inFlight ?? { asking: 0, waiting: new Set<() => void>() };
        entered.asking += 1;
        questions.set(bucket, entered);
        return entered;
      }
      if (inFlight === undefined) {
        warn(call);
        throw exceeded(addressBlock(call.client), waitMs);
      }
      await new Promise<void>((resolve) => inFlight.waiting.add(resolve));
    }
  }

  function leave(bucket: string, inFlight: InFlight, isRefused: boolean): void {
    inFlight.asking -= 1;
    if (inFlight.asking === 0) {
      questions.delete(bucket);
      for (const wake of inFlight.waiting) wake();
    } else if (!isRefused) {
      const [next] = inFlight.waiting;
      if (next === undefined) return;
      inFlight.waiting.delete(next);
      next();
    }
  }
}

function exceeded(address: string, waitMs: number): Denial {
  const remedy = 'limits.failures, or trusted_proxies if it is a proxy of your own';
  return new Denial('failures.exceeded', `too many refused tokens from ${address}: ${remedy}`, {
    retryAfterSeconds: retryAfterSeconds(waitMs),
  });
}

/** The most addresses that are remembered: clients can write the header themselves, and must not fill the log. */
const MAX_ADDRESSES = 100;

/**
 * Creates the warning that an address over `limits.failures` may be a proxy of the operator. It sends `X-Forwarded-For`
 * and is not trusted, so all its callers share one limit. The warning comes once for each address.
 */
export function createUnlistedProxyWarning(warn: (address: string) => void): (call: Call) => void {
  const warned = new Set<string>();
  return ({ client, peer, fields }) => {
    if (client !== peer || !fields.names.includes('x-forwarded-for')) return;
    const address = addressBlock(peer);
    if (warned.size >= MAX_ADDRESSES || warned.has(address)) return;
    warned.add(address);
    warn(peer);
  };
}
