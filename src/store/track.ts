import { createPrefixSums, type PrefixSums } from './prefix-sums.ts';
import { append, createTimeline, noteGone, type Timed, type Timeline } from './timeline.ts';

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

/** What a call left in a track. */
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
  entry.place = append(track.timeline, entry);
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
