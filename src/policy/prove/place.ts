import { unreachable } from '../../lib/json/pointer.ts';
import type { Predicate } from '../predicate.ts';
import { type Candidate, candidatesFor, holdsFor } from './candidates.ts';
import { elementsOf, type PossibleElement } from './elements.ts';
import { type Formula, type Variable, and, atom, not, or } from './formula.ts';
import type { PlaceDraft } from './place-draft.ts';
import { classSet, type Variables } from './variables.ts';

/** A place in a JSON object, and what may stand there. */
export interface Place {
  readonly key: string;
  readonly variable: Variable;
  /** What each class of the variable stands for. Class 0: the place is not written. */
  readonly classes: readonly Candidate[];
  readonly children: readonly Place[];
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

/** What surrounds a place. */
type Surroundings = Pick<Place, 'exists' | 'isMissing' | 'isBlocked'> & {
  /** Predicates on the elements of the array that it may be in. */
  readonly containing: readonly Predicate[];
};

/** What surrounds the members of an object that is always there. */
export const inObject: Surroundings = { exists: true, isMissing: false, isBlocked: false, containing: [] };

/** A canonical index of an array, RFC 6901 §4. */
export const arrayIndex = /^(?:0|[1-9][0-9]*)$/;

/**
 * A place with its classes: values that neither its own predicates nor those of the array around it can tell apart.
 *
 * @param unwritten What is found where the place is not written.
 */
export function createPlace(
  { key, leaves, children }: PlaceDraft,
  { exists, isMissing, isBlocked, containing }: Surroundings,
  variables: Variables,
  unwritten?: unknown,
): Place {
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
export function isUnwritten({ variable }: Place): Formula {
  return atom(variable, 1n);
}

/** Holds if an array stands at the place. */
export function isArray({ variable, classes }: Place): Formula {
  return atom(
    variable,
    classSet(classes, (each) => shapeOf(each) === 'array'),
  );
}

/** Holds if an object stands at the place. */
export function isObject({ variable, classes }: Place): Formula {
  return atom(
    variable,
    classSet(classes, (each) => shapeOf(each) === 'object'),
  );
}

/** The statement that a predicate holds for what a pointer to the place finds. */
export function predicateAt(place: Place, predicate: Predicate): Formula {
  const { operand, test } = predicate;
  if (operand.kind === 'not') return not(and(operand.excluded.map((each) => predicateAt(place, each))));
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
function contains({ elements, children }: Place, { test }: Predicate): Formula {
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
