/** The newest of many things, and no more than so many of them. */
export interface Recent<Thing> {
  add(thing: Thing): void;
  /** The newest first. */
  readonly list: () => readonly Thing[];
}

/** Creates an empty one that remembers `max` things. */
export function createRecent<Thing>(max: number): Recent<Thing> {
  const things: Thing[] = [];
  let next = 0;
  return {
    add(thing) {
      things[next] = thing;
      next = (next + 1) % max;
    },
    list: () => [...things.slice(next), ...things.slice(0, next)].toReversed(),
  };
}
