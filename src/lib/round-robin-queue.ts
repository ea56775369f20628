/** What waits, by whose it is: one of each owner's in turn. */
export interface RoundRobinQueue {
  readonly isEmpty: () => boolean;
  /** How many have any waiting. */
  readonly owners: () => number;
  /** How many of the owner's wait. */
  waiting(owner: string): number;
  add(owner: string, act: () => void): void;
  /** Calls what the first owner whom `mayGo` lets has waited with longest; the owner goes to the end. False for nobody. */
  next(mayGo?: (owner: string) => boolean): boolean;
}

/** Creates rounds in which nobody waits. */
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
