/** An item that ends at a time. */
export interface Timed {
  /** Milliseconds by the clock of the ledger. */
  readonly endsAt: number;
  /** Whether it has ended or was removed. */
  isGone: boolean;
}

/** Items in the order of their end. Those that have gone keep their place until they are half of them. */
export interface Timeline<Item extends Timed> {
  items: Item[];
  /** The number of items that have gone. */
  gone: number;
  /** All items before this index have gone. */
  first: number;
}

/** Creates a timeline without items. */
export function createTimeline<Item extends Timed>(): Timeline<Item> {
  return { items: [], gone: 0, first: 0 };
}

/** Adds an item that ends after all others. Returns its index, which holds until {@link noteGone} returns true. */
export function append<Item extends Timed>(timeline: Timeline<Item>, item: Item): number {
  // An array with one element is small; the first `push` makes room for 17.
  if (timeline.items.length === 0) timeline.items = [item];
  else timeline.items.push(item);
  return timeline.items.length - 1;
}

/** Notes that one more item has gone. Returns whether the indices of the others have changed. */
export function noteGone<Item extends Timed>(timeline: Timeline<Item>): boolean {
  timeline.gone += 1;
  if (timeline.gone * 2 < timeline.items.length) return false;
  // Most have ended in order. To copy what is left is then much faster than to look at each.
  firstOf(timeline);
  const rest = timeline.items.slice(timeline.first);
  timeline.items = timeline.first === timeline.gone ? rest : rest.filter(({ isGone }) => !isGone);
  timeline.gone = 0;
  timeline.first = 0;
  return true;
}

/** The item that ends first; undefined if there is none. */
export function firstOf<Item extends Timed>(timeline: Timeline<Item>): Item | undefined {
  while (timeline.items[timeline.first]?.isGone === true) timeline.first += 1;
  return timeline.items[timeline.first];
}
