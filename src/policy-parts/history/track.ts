/** The counted calls of one rule, one owner, and the values that must be the same. */
export interface Track {
  readonly name: string;
  readonly timeline: Timeline<TrackEntry>;
  /** The entries that have not gone, those of them that were answered, and their sum. */
  count: number;
  answered: number;
  sum: number;
  /** Made when a quota refuses a call, and until the places change. */
  sums: PrefixSums | undefined;
}

/** The entry that a call left in a track. */
export interface TrackEntry extends Timed {
  readonly track: Track;
  readonly amount: number;
  isAnswered: boolean;
  /** Its index in {@link Track.sums}. */
  place: number;
}

/** Creates a track without entries. */
export function createTrack(name: string): Track {
  return { name, timeline: createTimeline(), count: 0, answered: 0, sum: 0, sums: undefined };
}

/** Adds an entry, which ends after all others. */
export function addEntry(track: Track, entry: TrackEntry): void {
  entry.place = appendTo(track.timeline, entry);
  track.count += 1;
  track.sum += entry.amount;
  track.sums?.append(entry.amount);
}

/** Removes an entry that is marked as gone. */
export function removeEntry({ track, amount, isAnswered, place }: TrackEntry): void {
  track.count -= 1;
  track.sum -= amount;
  if (isAnswered) track.answered -= 1;
  track.sums?.change(place, -amount);
  if (noteGone(track.timeline)) track.sums = undefined;
}

/** Marks an entry as answered, once. */
export function noteAnswered(entry: TrackEntry): void {
  entry.isAnswered = true;
  entry.track.answered += 1;
}

/**
 * The time at which entries of the sum `amount` will have ended.
 *
 * @param except An entry that does not count.
 */
export function endOf(track: Track, amount: number, except: TrackEntry | undefined): number {
  const { items } = track.timeline;
  const sums = (track.sums ??= sumsOf(items));
  if (except !== undefined) sums.change(except.place, -except.amount);
  const { endsAt } = items[sums.indexOf(amount)] as TrackEntry;
  if (except !== undefined) sums.change(except.place, except.amount);
  return endsAt;
}

function sumsOf(entries: readonly TrackEntry[]): PrefixSums {
  const sums = createPrefixSums();
  for (const [place, entry] of entries.entries()) {
    entry.place = place;
    sums.append(entry.isGone ? 0 : entry.amount);
  }
  return sums;
}

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
export function appendTo<Item extends Timed>(timeline: Timeline<Item>, item: Item): number {
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

/** A growing list of numbers, and the sums of its beginnings. Each operation takes logarithmic time. */
export interface PrefixSums {
  append(value: number): void;
  /** Adds `difference` to the value at `index`. */
  change(index: number, difference: number): void;
  /** The first index up to which, inclusive, the values sum up to `total` or more; the length if there is none. */
  indexOf(total: number): number;
}

/** Creates an empty list, as a Fenwick tree. No value may be negative. */
export function createPrefixSums(): PrefixSums {
  /** `sums[i - 1]` is the sum of the values from `i - lowestBit(i)` to `i - 1`. */
  const sums: number[] = [];
  return {
    append(value) {
      const place = sums.length + 1;
      let sum = value;
      for (let step = 1; step < lowestBit(place); step *= 2) sum += sums[place - step - 1] as number;
      sums.push(sum);
    },
    change(index, difference) {
      for (let place = index + 1; place <= sums.length; place += lowestBit(place)) {
        sums[place - 1] = (sums[place - 1] as number) + difference;
      }
    },
    indexOf(total) {
      let place = 0;
      let missing = total;
      // From a step that is longer than any list.
      for (let step = 2 ** 31; step >= 1; step /= 2) {
        const sum = sums[place + step - 1] ?? Infinity;
        if (sum >= missing) continue;
        place += step;
        missing -= sum;
      }
      return place;
    },
  };
}

function lowestBit(place: number): number {
  return place & -place;
}
