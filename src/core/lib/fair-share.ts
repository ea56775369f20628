/** Counts by owner. An owner without one takes no memory. */
export class OwnerCounts {
  readonly #amounts = new Map<string, number>();

  of(owner: string): number {
    return this.#amounts.get(owner) ?? 0;
  }

  add(owner: string, amount: number): void {
    const sum = this.of(owner) + amount;
    if (sum > 0) this.#amounts.set(owner, sum);
    else this.#amounts.delete(owner);
  }
}

/** A shared amount, of which each owner may hold only a part, so that one owner cannot use up the whole. */
export interface Quota {
  /** Takes `amount` for `owner`, all of it or nothing; false if the owner may not have that much. */
  take(owner: string, amount: number): boolean;
  /** Gives back an amount that was taken. More than was taken is a bug, and throws. */
  give(owner: string, amount: number): void;
}

/**
 * Creates a quota of `total`, all of it free. One owner may hold its share, and no more than is free. An owner that
 * holds nothing gets a part as long as any is free.
 *
 * @param share Default: a quarter, rounded up.
 */
export function createQuota(total: number, share = Math.ceil(total / 4)): Quota {
  const held = new OwnerCounts();
  let free = total;
  return {
    take(owner, amount) {
      if (held.of(owner) + amount > Math.min(share, free)) return false;
      held.add(owner, amount);
      free -= amount;
      return true;
    },
    give(owner, amount) {
      if (held.of(owner) < amount) throw new TypeError('gave back what was not taken');
      held.add(owner, -amount);
      free += amount;
    },
  };
}

/** A queue that serves owners in turn, one entry of each owner at a time. */
interface RoundRobinQueue {
  readonly isEmpty: () => boolean;
  /** The number of owners with entries. */
  readonly owners: () => number;
  /** The number of entries of one owner. */
  waiting(owner: string): number;
  add(owner: string, act: () => void): void;
  /**
   * Runs the oldest entry of the first owner that `mayGo` accepts, and moves the owner to the end; false without one.
   */
  next(mayGo?: (owner: string) => boolean): boolean;
}

/** Creates an empty queue. */
export function createRoundRobinQueue(): RoundRobinQueue {
  /** The next owner first. */
  const row = new Map<string, (() => void)[]>();
  return {
    isEmpty: () => row.size === 0,
    owners: () => row.size,
    waiting: (owner) => row.get(owner)?.length ?? 0,
    add(owner, act) {
      const acts = row.get(owner);
      if (acts === undefined) row.set(owner, [act]);
      else acts.push(act);
    },
    next(mayGo = () => true) {
      for (const [owner, acts] of row) {
        if (!mayGo(owner)) continue;
        const act = acts.shift();
        row.delete(owner);
        if (acts.length > 0) row.set(owner, acts);
        act?.();
        return true;
      }
      return false;
    },
  };
}
