/** A queue that serves owners in turn, one entry of each owner at a time. */
export interface RoundRobinQueue {
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
