import type { Predicate } from '../predicate.ts';
import { leavesOf } from './candidates.ts';
import { Undecidable } from '../patterns/undecidable.ts';

/** A place that conditions read, with the places inside it. */
export interface PlaceDraft {
  readonly key: string;
  /** Predicates on its value, without `not`. */
  readonly leaves: readonly Predicate[];
  readonly children: readonly PlaceDraft[];
}

/** A condition on the value at one place of an object. */
export interface PlaceCondition {
  /** The keys that lead to the place; at least one. */
  readonly path: readonly string[];
  readonly predicates: readonly Predicate[];
}

/** The places that conditions read, as trees: one for each member of the object at the top. */
export function placesOf(conditions: readonly PlaceCondition[]): readonly PlaceDraft[] {
  const byKey = Map.groupBy(conditions, ({ path }) => path[0] ?? '');
  return [...byKey].map(([key, own]) => ({
    key,
    leaves: own.filter(({ path }) => path.length === 1).flatMap(({ predicates }) => predicates.flatMap(leavesOf)),
    children: withoutGaps(
      placesOf(
        own.filter(({ path }) => path.length > 1).map(({ path, predicates }) => ({ path: path.slice(1), predicates })),
      ),
    ),
  }));
}

/** The limit on positions of an array. */
const MAX_POSITIONS = 32;

/** All positions before the last one that a pointer names: an array has no gaps. */
function withoutGaps(places: readonly PlaceDraft[]): readonly PlaceDraft[] {
  const isPosition = ({ key }: PlaceDraft): boolean => /^(?:0|[1-9][0-9]*)$/.test(key);
  const named = new Map(places.filter(isPosition).map((place) => [place.key, place]));
  if (named.size === 0) return places;
  const last = Math.max(...[...named.keys()].map(Number));
  if (last >= MAX_POSITIONS) throw new Undecidable(`the position ${last} of an array`);
  const positions = Array.from(
    { length: last + 1 },
    (_, index) => named.get(String(index)) ?? { key: String(index), leaves: [], children: [] },
  );
  return [...places.filter((place) => !isPosition(place)), ...positions];
}
