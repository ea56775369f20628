import { createRoundRobinQueue } from '../lib/round-robin-queue.ts';
import { createQuota } from '../lib/quota.ts';

/** A bounded number of capacity, shared so that nobody who comes with much can keep out who comes with little. */
export interface FairSemaphore {
  /** Takes a place for `owner`: at once (undefined), or when the promise resolves; `full` where too many of the owner's wait. */
  acquire(owner: string): Promise<void> | 'full' | undefined;
  /** Gives one of the owner's back. Must come once for each that was taken. */
  release(owner: string): void;
}

/** Creates `capacity` that are free, shared as {@link createQuota} does it. Who waits comes in turn. */
export function createFairSemaphore(capacity: number): FairSemaphore {
  const quota = createQuota(capacity);
  const queue = createRoundRobinQueue();
  const acquires = (owner: string): boolean => quota.take(owner, 1);
  return {
    acquire(owner) {
      const waiting = queue.waiting(owner);
      if (waiting === 0 && acquires(owner)) return undefined;
      if (waiting >= capacity) return 'full';
      return new Promise((resolve) => queue.add(owner, resolve));
    },
    release(owner) {
      quota.give(owner, 1);
      while (queue.next(acquires));
    },
  };
}
