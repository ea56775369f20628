/** An amount of something that many hold parts of, so that nobody who takes much leaves nothing to who takes little. */
export interface Quota {
  /** Takes `amount` for `owner`: whether there was enough. All or nothing. */
  take(owner: string, amount: number): boolean;
  /** Gives back what was taken, and never more. */
  give(owner: string, amount: number): void;
}

/**
 * Creates `total` that is free. One owner holds a quarter of it at most (rounded up), and never more than is left to the
 * others: whoever holds nothing gets a part as long as there is any.
 */
export function createQuota(total: number): Quota {
  const share = Math.ceil(total / 4);
  const held = new Map<string, number>();
  let free = total;
  return {
    take(owner, amount) {
      const wanted = (held.get(owner) ?? 0) + amount;
      if (wanted > Math.min(share, free)) return false;
      held.set(owner, wanted);
      free -= amount;
      return true;
    },
    give(owner, amount) {
      const rest = (held.get(owner) ?? 0) - amount;
      if (rest < 0) throw new TypeError('gave back what was not taken');
      if (rest > 0) held.set(owner, rest);
      else held.delete(owner);
      free += amount;
    },
  };
}
