import { createRoundRobinQueue } from '../lib/round-robin-queue.ts';
import { createQuota } from '../lib/quota.ts';

/** A semaphore that no single owner can exhaust. */
export interface FairSemaphore {
  /** Acquires for `owner`: at once (undefined), or when the promise resolves. `full`: the owner's queue is full. */
  acquire(owner: string): Promise<void> | 'full' | undefined;
  /** Releases for `owner`. Call it once for each acquisition. */
  release(owner: string): void;
}

/**
 * Creates a free semaphore. Each owner has a {@link createQuota quota} of `capacity`; waiting owners are served in
 * turn.
 */
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
