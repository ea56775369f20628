/** A bounded number of places, shared so that nobody who comes with much can keep out who comes with little. */
export interface FairPlaces {
  /** Takes a place for `owner`: at once (undefined), or when the promise resolves; `full` where too many of the owner's wait. */
  enter(owner: string): Promise<void> | 'full' | undefined;
  /** Gives one of the owner's back. Must come once for each that was taken. */
  leave(owner: string): void;
}

interface Owner {
  held: number;
  readonly waiting: (() => void)[];
}

/**
 * Creates `places` that are free. One owner holds a quarter of them at most, and never more than are left to the others:
 * whoever holds none gets one as long as there is one. Who waits comes in turn.
 */
export function createFairPlaces(places: number): FairPlaces {
  const share = Math.ceil(places / 4);
  const owners = new Map<string, Owner>();
  /** Those of them who wait, the next one first. At most one for each place is passed over. */
  const queue = new Set<Owner>();
  let free = places;

  function mayEnter({ held }: Owner): boolean {
    return held < Math.min(free, share);
  }

  function take(owner: Owner): void {
    owner.held += 1;
    free -= 1;
  }

  function admitNext(): boolean {
    for (const owner of queue) {
      if (!mayEnter(owner)) continue;
      take(owner);
      queue.delete(owner);
      owner.waiting.shift()?.();
      if (owner.waiting.length > 0) queue.add(owner);
      return true;
    }
    return false;
  }

  return {
    enter(name) {
      const owner = owners.get(name) ?? { held: 0, waiting: [] };
      owners.set(name, owner);
      if (owner.waiting.length === 0 && mayEnter(owner)) {
        take(owner);
        return undefined;
      }
      if (owner.waiting.length >= places) return 'full';
      queue.add(owner);
      return new Promise((resolve) => owner.waiting.push(resolve));
    },
    leave(name) {
      const owner = owners.get(name);
      if (owner === undefined) throw new TypeError('gave back a place that was not taken');
      owner.held -= 1;
      free += 1;
      if (owner.held === 0 && owner.waiting.length === 0) owners.delete(name);
      while (admitNext());
    },
  };
}
