import { folded } from '../../lib/folded.ts';
import { type Formula, and, implies, not } from './formula.ts';
import { arrayIndex, createPlace, inObject, isArray, isObject, isUnwritten, type Place } from './place.ts';
import { type PlaceCondition, placesOf } from './place-draft.ts';
import type { Variables } from './variables.ts';

/** A JSON object with the places that conditions read: the claims of a token, or the arguments of a call. */
export interface JsonObject {
  readonly places: readonly Place[];
  /** Holds for the objects that exist. */
  readonly constraint: Formula;
}

/** The possible contents of a JSON object, as far as conditions can tell them apart. */
export function createObject(
  conditions: readonly PlaceCondition[],
  variables: Variables,
  unwritten: Readonly<Record<string, unknown>> = {},
): JsonObject {
  const places = placesOf(conditions).map((draft) =>
    createPlace(draft, inObject, variables, Object.hasOwn(unwritten, draft.key) ? unwritten[draft.key] : undefined),
  );
  return { places, constraint: and(places.map(withoutGaps)) };
}

/** An element of an array only exists if the one before it does. */
function withoutGaps(place: Place): Formula {
  const elements = place.children.filter(({ key }) => arrayIndex.test(key));
  const inOrder = elements
    .slice(1)
    .map((element, index) => implies(isUnwritten(elements[index] ?? element), isUnwritten(element)));
  return and([implies(and([place.exists, isArray(place)]), and(inOrder)), ...place.children.map(withoutGaps)]);
}

/**
 * Holds for arguments of which the gateway can read each place: an object has keys that differ only in case either all,
 * or none of them.
 */
export function withoutVariants(places: readonly Place[], around?: Place): Formula {
  const groups = [...Map.groupBy(places, ({ key }) => folded(key)).values()];
  const alike = groups.flatMap(([first, ...others]) =>
    first === undefined ? [] : others.map((other) => equal(isUnwritten(first), isUnwritten(other))),
  );
  const guard = around === undefined ? true : and([around.exists, isObject(around)]);
  return and([implies(guard, and(alike)), ...places.map((place) => withoutVariants(place.children, place))]);
}

function equal(one: Formula, other: Formula): Formula {
  return and([implies(one, other), implies(not(one), not(other))]);
}

/** The place to which keys lead. */
export function placeAt(places: readonly Place[], path: readonly string[]): Place {
  const [key, ...rest] = path;
  const place = places.find((each) => each.key === key);
  if (place === undefined) throw new TypeError(`no place ${String(key)}`);
  return rest.length === 0 ? place : placeAt(place.children, rest);
}

/** The members of an object, where each variable has one class. */
export function membersOf(places: readonly Place[], classes: readonly number[]): Record<string, unknown> {
  const written = places.filter((place) => isWritten(place, classes));
  return Object.fromEntries(written.map((place) => [place.key, valueOf(place, classes)]));
}

function isWritten({ variable }: Place, classes: readonly number[]): boolean {
  return classes[variable.index] !== 0;
}

function valueOf(place: Place, classes: readonly number[]): unknown {
  const value = place.classes[classes[place.variable.index] ?? 0]?.value;
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return membersOf(place.children, classes);
  const positions = place.children.filter(({ key }) => arrayIndex.test(key));
  const named = positions.filter((each) => isWritten(each, classes));
  const isLonger = named.length === positions.length;
  const others = place.elements.filter(({ variable }) => isLonger && classes[variable.index] === 1);
  return [...named.map((each) => valueOf(each, classes)), ...others.map((each) => each.value)];
}
