import { addressBlock } from '../lib/address-block.ts';
import { Denial } from '../model/denial.ts';
import type { Failures, RateLimiter } from '../model/limits.ts';
import { retryAfterSeconds } from './retry-after-seconds.ts';

/** Of one address: tokens that are asked about now, and what waits for them. */
interface Underway {
  asking: number;
  readonly waiting: (() => void)[];
}

/** Creates the limit of failures of an address; without a limiter there is none. */
export function createFailures(limiter: RateLimiter | undefined): Failures {
  return limiter === undefined ? { guard: (_client, work) => work(), count() {} } : createLimitedFailures(limiter);
}

/**
 * A token counts as a failure from the moment at which it is asked about until it has proved good: with many at once
 * nobody may guess more than with one after the other. So that a crowd behind one address which comes with good tokens
 * is not refused (all of it, after a restart), what finds no place waits while others may still give theirs back.
 */
function createLimitedFailures(limiter: RateLimiter): Failures {
  const places = new Map<string, Underway>();

  return {
    async guard(client, work) {
      const address = addressBlock(client);
      const underway = await enter(address);
      let failed = false;
      try {
        return await work();
      } catch (error) {
        failed = isFailure(error);
        throw error;
      } finally {
        if (!failed) limiter.give(address);
        leave(address, underway, failed);
      }
    },
    count(client, error) {
      // Whether it was the last one does not matter here: this token is refused already.
      if (isFailure(error)) void limiter.take(addressBlock(client));
    },
  };

  async function enter(address: string): Promise<Underway> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- each try waits for the one before
      const waitMs = await limiter.take(address);
      const underway = places.get(address);
      if (waitMs === 0) {
        const entered = underway ?? { asking: 0, waiting: [] };
        entered.asking += 1;
        places.set(address, entered);
        return entered;
      }
      if (underway === undefined) {
        throw new Denial(
          'failures.exceeded',
          `too many refused tokens from ${address}: limits.failures, or trusted_proxies if it is a proxy of your own`,
          {
            retryAfterSeconds: retryAfterSeconds(waitMs),
          },
        );
      }
      // oxlint-disable-next-line no-await-in-loop -- the same
      await new Promise<void>((resolve) => underway.waiting.push(resolve));
    }
  }

  function leave(address: string, underway: Underway, failed: boolean): void {
    underway.asking -= 1;
    if (underway.asking === 0) {
      places.delete(address);
      for (const wake of underway.waiting) wake();
    } else if (!failed) underway.waiting.shift()?.();
  }
}

/** Somebody showed what is no good. Not: nothing at all, a proof that only lacks our nonce, or an outage. */
function isFailure(error: unknown): boolean {
  if (!(error instanceof Denial) || error.reason === 'proof.nonce') return false;
  return error.reason.startsWith('token.') || error.reason.startsWith('proof.');
}
