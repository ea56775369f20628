import { retryAfterSeconds } from '../http/header-fields.ts';
import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import { addressBlock } from '../lib/ip-address.ts';
import { createSingleFlight } from '../lib/single-flight.ts';
import type { Call } from '../model/call.ts';
import { Denial, isTokenDenial } from '../model/denial.ts';
import type { Failures, RateLimiters, TokenQuestion } from '../model/limits.ts';
import type { Rate } from '../model/route.ts';

/** Refused tokens that are remembered at most. Only one that counted is added, so one address adds few. */
const MAX_REFUSED = 50_000;

/** The questions in flight of one bucket, and what waits for their outcome. */
interface InFlight {
  asking: number;
  /** In the order of arrival; a set, since taking the first of a long array takes as long as the array is. */
  readonly waiting: Set<() => void>;
}

/** What the limit of failures is made with. */
interface FailuresParts {
  readonly limiters: RateLimiters;
  readonly clock: Clock;
  /** Told of an address that exceeds the limit and may be a proxy which is not trusted. */
  readonly warnOfProxy: (address: string) => void;
}

/** No limit at all. */
export const unlimitedFailures: Failures = { guard: (_question, work) => work() };

/**
 * Creates the limit of failures: for each address and the servers that are asked it counts different tokens that were
 * refused.
 *
 * A question takes a place before it is asked and gives it back unless its token is refused. So parallel guesses get
 * exactly as many answers as guesses in a row. A question that finds no place waits while others may still give theirs
 * back: a crowd behind one address that comes with good tokens is slowed down and never refused.
 *
 * Places are kept apart by the servers that are asked: while one of them hangs, the questions that wait for it hold no
 * place at another. Counting after the answer instead would need no places, but would let as many guesses pass at once
 * as a server is asked in parallel, again each time that a place comes back.
 *
 * A token that was refused before has a bucket of its own kind, as large: a client that repeats one expired token counts
 * once, and yet cannot make the gateway ask without end where `cache: 0s` remembers no answer.
 */
export function createFailures(rate: Rate | undefined, { limiters, clock, warnOfProxy }: FailuresParts): Failures {
  if (rate === undefined) return unlimitedFailures;
  const limiter = limiters('failures', rate);
  /** The time in which all places come back. */
  const windowMs = (rate.burst * rate.perMs) / rate.requests;
  const places = new Map<string, InFlight>();
  const warn = createUnlistedProxyWarning(warnOfProxy);
  const refused = createExpiringCache<object>(MAX_REFUSED, clock);

  const flight = createSingleFlight<unknown>();

  return {
    guard<Value>({ call, servers, token }: TokenQuestion, work: () => Promise<Value>): Promise<Value> {
      const fresh = `${addressBlock(call.client)} ${servers}`;
      const shown = `${fresh} ${token}`;
      // One token from one address takes one place, however often it is presented meanwhile.
      return flight(shown, () => {
        const bucket = refused.get(shown) === undefined ? fresh : `again ${fresh}`;
        return placed(bucket, call, work, () => refused.set(shown, {}, clock() + windowMs));
      }) as Promise<Value>;
    },
  };

  async function placed(
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
      // oxlint-disable-next-line no-await-in-loop -- each try waits for the one before
      const waitMs = await limiter.take(bucket);
      const inFlight = places.get(bucket);
      if (waitMs === 0) {
        const entered = inFlight ?? { asking: 0, waiting: new Set<() => void>() };
        entered.asking += 1;
        places.set(bucket, entered);
        return entered;
      }
      if (inFlight === undefined) {
        warn(call);
        throw exceeded(addressBlock(call.client), waitMs);
      }
      // oxlint-disable-next-line no-await-in-loop -- the same
      await new Promise<void>((resolve) => inFlight.waiting.add(resolve));
    }
  }

  function leave(bucket: string, inFlight: InFlight, isRefused: boolean): void {
    inFlight.asking -= 1;
    if (inFlight.asking === 0) {
      places.delete(bucket);
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

/** Addresses that are remembered at most: clients write the header themselves, and must not fill the log. */
const MAX_ADDRESSES = 100;

/**
 * Creates the warning that the address of a call, which exceeded `limits.failures`, may be a proxy of our own: it sends
 * `X-Forwarded-For`, which does not count. All its callers share one limit then. Each address is warned of once.
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
