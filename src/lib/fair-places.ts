import { createShares } from './shares.ts';

/** A bounded number of places, shared so that nobody who comes with much can keep out who comes with little. */
export interface FairPlaces {
  /** Takes a place for `owner`: at once (undefined), or when the promise resolves; `full` where too many of the owner's wait. */
  enter(owner: string): Promise<void> | 'full' | undefined;
  /** Gives one of the owner's back. Must come once for each that was taken. */
  leave(owner: string): void;
}

/** Creates `places` that are free, shared as {@link createShares} does it. Who waits comes in turn. */
export function createFairPlaces(places: number): FairPlaces {
  const shares = createShares(places);
  /** Who wait, the next owner first. At most one for each place is passed over. */
  const queue = new Map<string, (() => void)[]>();

  function admitNext(): boolean {
    for (const [owner, waiting] of queue) {
      if (!shares.take(owner, 1)) continue;
      queue.delete(owner);
      waiting.shift()?.();
      if (waiting.length > 0) queue.set(owner, waiting);
      return true;
    }
    return false;
  }

  return {
    enter(owner) {
      const waiting = queue.get(owner) ?? [];
      if (waiting.length === 0 && shares.take(owner, 1)) return undefined;
      if (waiting.length >= places) return 'full';
      queue.set(owner, waiting);
      return new Promise((resolve) => waiting.push(resolve));
    },
    leave(owner) {
      shares.give(owner, 1);
      while (admitNext());
    },
  };
}
