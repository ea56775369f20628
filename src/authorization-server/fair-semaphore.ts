import { createRoundRobinQueue } from '../lib/round-robin-queue.ts';
import { createQuota } from '../lib/quota.ts';

/** A bounded number of places, shared so that nobody who comes with much can keep out who comes with little. */
export interface FairSemaphore {
  /** Takes a place for `owner`: at once (undefined), or when the promise resolves; `full` where too many of the owner's wait. */
  enter(owner: string): Promise<void> | 'full' | undefined;
  /** Gives one of the owner's back. Must come once for each that was taken. */
  leave(owner: string): void;
}

/** Creates `places` that are free, shared as {@link createQuota} does it. Who waits comes in turn. */
export function createFairSemaphore(places: number): FairSemaphore {
  const shares = createQuota(places);
  const rounds = createRoundRobinQueue();
  const takesPlace = (owner: string): boolean => shares.take(owner, 1);
  return {
    enter(owner) {
      const waiting = rounds.waiting(owner);
      if (waiting === 0 && takesPlace(owner)) return undefined;
      if (waiting >= places) return 'full';
      return new Promise((resolve) => rounds.add(owner, resolve));
    },
    leave(owner) {
      shares.give(owner, 1);
      while (rounds.next(takesPlace));
    },
  };
}
