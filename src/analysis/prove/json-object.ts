import { folded } from '../../core/lib/look-alike.ts';
import { unreachable } from '../../core/lib/json/pointer.ts';
import { Undecidable } from './text-automaton.ts';
import type { ClaimsOperand, Predicate } from '../../core/policy/predicate.ts';
import {
  type Candidate,
  candidatesFor,
  elementsOf,
  holdsFor,
  isUnary,
  leavesOf,
  type PossibleElement,
} from './candidates.ts';
import { type Formula, and, implies, not, type Variable, atom, or, type Variables, classSet } from './formula.ts';

/** A JSON object with the places that conditions read: the claims of a token, or the arguments of a call. */
export interface JsonObject {
  readonly places: readonly MemberPlace[];
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
function withoutGaps(place: MemberPlace): Formula {
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
export function withoutVariants(places: readonly MemberPlace[], around?: MemberPlace): Formula {
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
export function placeAt(places: readonly MemberPlace[], path: readonly string[]): MemberPlace {
  const [key, ...rest] = path;
  const place = places.find((each) => each.key === key);
  if (place === undefined) throw new TypeError(`no place ${String(key)}`);
  return rest.length === 0 ? place : placeAt(place.children, rest);
}

/**
 * The members of an object, where each variable has one class.
 *
 * @param values Of places whose values were chosen beyond their classes.
 */
export function membersOf(
  places: readonly MemberPlace[],
  classes: readonly number[],
  values: ReadonlyMap<MemberPlace, unknown>,
): Record<string, unknown> {
  const written = places.filter((place) => isWritten(place, classes));
  return Object.fromEntries(written.map((place) => [place.key, valueOf(place, classes, values)]));
}

function isWritten({ variable }: MemberPlace, classes: readonly number[]): boolean {
  return classes[variable.index] !== 0;
}

function valueOf(place: MemberPlace, classes: readonly number[], values: ReadonlyMap<MemberPlace, unknown>): unknown {
  const value = values.has(place) ? values.get(place) : place.classes[classes[place.variable.index] ?? 0]?.value;
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) return membersOf(place.children, classes, values);
  if (value.length > 0) return value;
  const positions = place.children.filter(({ key }) => arrayIndex.test(key));
  const named = positions.filter((each) => isWritten(each, classes));
  const isLonger = named.length === positions.length;
  const others = place.elements.filter(({ variable }) => isLonger && classes[variable.index] === 1);
  return [...named.map((each) => valueOf(each, classes, values)), ...others.map((each) => each.value)];
}

/** A place in a JSON object, and what may stand there. */
export interface MemberPlace {
  readonly key: string;
  readonly variable: Variable;
  /** What each class of the variable stands for. Class 0: the place is not written. */
  readonly classes: readonly Candidate[];
  readonly children: readonly MemberPlace[];
  /** What an array at this place may hold besides the children with an index. */
  readonly elements: readonly PossibleElement[];
  /** Holds if the value around this place can have it. */
  readonly exists: Formula;
  /** Holds if there is no value around it. */
  readonly isMissing: Formula;
  /** Holds if the value around it cannot have such a member: a pointer finds `unreachable`. */
  readonly isBlocked: Formula;
  /** Patterns at this place that no automaton decides, each with the reason. */
  readonly undecided: ReadonlyMap<string, string>;
}

type Surroundings = Pick<MemberPlace, 'exists' | 'isMissing' | 'isBlocked'> & {
  /** Predicates on the elements of the array that it may be in. */
  readonly containing: readonly Predicate[];
};

/** The surroundings of the members of an object that is always there. */
const inObject: Surroundings = { exists: true, isMissing: false, isBlocked: false, containing: [] };

/** A canonical index of an array, RFC 6901 §4. */
const arrayIndex = /^(?:0|[1-9][0-9]*)$/;

/**
 * A place with its classes: values that neither its own predicates nor those of the array around it can tell apart.
 *
 * @param unwritten What is found where the place is not written.
 */
function createPlace(
  { key, leaves, children }: PlaceDraft,
  { exists, isMissing, isBlocked, containing }: Surroundings,
  variables: Variables,
  unwritten?: unknown,
): MemberPlace {
  const inside = leaves.filter(({ operand }) => operand.kind === 'element');
  const { candidates, undecided } = candidatesFor([...leaves, ...containing.map(asScalars)]);
  const classes = told([{ value: unwritten, assumed: undefined }, ...candidates.slice(1)], (candidate) => [
    ...leaves.map((leaf) => holdsFor(leaf, candidate)),
    ...containing.map(({ test }) => test([candidate.value])),
    children.length > 0 || inside.length > 0 ? shapeOf(candidate) : '',
  ]);
  const variable = variables.add(classes.length, (index) => classes[index]?.assumed === undefined);
  const has = (...shapes: readonly Shape[]): Formula =>
    atom(
      variable,
      classSet(classes, (each) => shapes.includes(shapeOf(each))),
    );
  const around = (child: PlaceDraft): Surroundings => {
    const [exist, miss, block] = surroundedBy(child.key);
    return {
      exists: and([exists, has(...exist)]),
      isMissing: or([isMissing, and([exists, has(...miss)])]),
      isBlocked: or([isBlocked, and([exists, has(...block)])]),
      containing: inside,
    };
  };
  return {
    key,
    variable,
    classes,
    children: children.map((child) => createPlace(child, around(child), variables)),
    elements: elementsOf(inside, variables),
    exists,
    isMissing,
    isBlocked,
    undecided,
  };
}

type Shape = 'object' | 'array' | 'nothing' | 'other';

function shapeOf({ value }: Candidate): Shape {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value !== 'object') return 'other';
  return Array.isArray(value) ? 'array' : 'object';
}

/** The shapes of a value in which a member exists, those in which it is missing, and those that cannot have it. */
function surroundedBy(key: string): readonly [readonly Shape[], readonly Shape[], readonly Shape[]] {
  if (arrayIndex.test(key)) return [['object', 'array'], ['nothing'], ['other']];
  if (key === '-') return [['object'], ['nothing', 'array'], ['other']];
  return [['object'], ['nothing'], ['other', 'array']];
}

/** Elements differ by what arrays must contain. */
function asScalars({ operand, ...rest }: Predicate): Predicate {
  const scalars = operand.kind === 'element' ? [operand.element] : [];
  return { ...rest, operand: { kind: 'scalars', scalars, integer: false } };
}

/** The first of all candidates that `marks` cannot tell apart. The very first one has a class of its own. */
function told(candidates: readonly Candidate[], marks: (candidate: Candidate) => readonly unknown[]): Candidate[] {
  const first = new Map<string, Candidate>();
  for (const [index, candidate] of candidates.entries()) {
    const key = `${index === 0} ${marks(candidate).join(' ')}`;
    if (!first.has(key)) first.set(key, candidate);
  }
  return [...first.values()];
}

/** Holds if the place is not written. */
export function isUnwritten({ variable }: MemberPlace): Formula {
  return atom(variable, 1n);
}

function isArray({ variable, classes }: MemberPlace): Formula {
  return atom(
    variable,
    classSet(classes, (each) => shapeOf(each) === 'array'),
  );
}

function isObject({ variable, classes }: MemberPlace): Formula {
  return atom(
    variable,
    classSet(classes, (each) => shapeOf(each) === 'object'),
  );
}

/** The statement that a value at a place is as claims want. */
type Compared = (place: MemberPlace, operand: ClaimsOperand) => Formula;

/** The statement that a predicate holds for what a pointer to the place finds. */
export function predicateAt(place: MemberPlace, predicate: Predicate, compared: Compared): Formula {
  const { operand, test } = predicate;
  if (operand.kind === 'not') return not(and(operand.excluded.map((each) => predicateAt(place, each, compared))));
  if (operand.kind === 'claims' && operand.claims.length > 0) return compared(place, operand);
  const { variable, classes } = place;
  const found = atom(
    variable,
    classSet(classes, (each) => holdsFor(predicate, each)),
  );
  const inside = operand.kind === 'element' ? and([isArray(place), contains(place, predicate)]) : false;
  return or([
    and([place.exists, or([found, inside])]),
    test(undefined) ? place.isMissing : false,
    test(unreachable) ? place.isBlocked : false,
  ]);
}

/** Holds if an array at the place has an element for which `contains` holds. */
function contains({ elements, children }: MemberPlace, { test }: Predicate): Formula {
  const indexed = children.filter(({ key }) => arrayIndex.test(key));
  const last = indexed.at(-1);
  const more = or(elements.map(({ variable, value }) => (test([value]) ? atom(variable, 2n) : false)));
  return or([
    // Elements that no pointer names come after those that one names.
    and([last === undefined ? true : not(isUnwritten(last)), more]),
    ...indexed.map(({ variable, classes }) =>
      atom(
        variable,
        classSet(classes, ({ value }, index) => index > 0 && test([value])),
      ),
    ),
  ]);
}

interface PlaceDraft {
  readonly key: string;
  /** Predicates on its value, without `not`. */
  readonly leaves: readonly Predicate[];
  readonly children: readonly PlaceDraft[];
}

export interface PlaceCondition {
  /** The keys that lead to the place; at least one. */
  readonly path: readonly string[];
  readonly predicates: readonly Predicate[];
}

/** The places that conditions read, as trees: one for each member of the object at the top. */
function placesOf(conditions: readonly PlaceCondition[]): readonly PlaceDraft[] {
  const byKey = Map.groupBy(conditions, ({ path }) => path[0] ?? '');
  return [...byKey].map(([key, own]) => ({
    key,
    leaves: own
      .filter(({ path }) => path.length === 1)
      .flatMap(({ predicates }) => predicates.flatMap(leavesOf).filter(isUnary)),
    children: withPositions(
      placesOf(
        own.filter(({ path }) => path.length > 1).map(({ path, predicates }) => ({ path: path.slice(1), predicates })),
      ),
    ),
  }));
}

const MAX_POSITIONS = 32;

/** All positions before the last one that a pointer names: an array has no gaps. */
function withPositions(places: readonly PlaceDraft[]): readonly PlaceDraft[] {
  const isPosition = ({ key }: PlaceDraft): boolean => arrayIndex.test(key);
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
