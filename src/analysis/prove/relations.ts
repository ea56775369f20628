/**
 * @module Values that are compared with claims. How a value and a claim are related is a variable of its own: each of
 * its classes is a pair of values, such as two equal texts, for which the code that serves tests each predicate. The
 * classes allow at least all pairs that exist, so that what holds for all of them is proved. A counterexample needs
 * values that are so related, which {@link Relations.valuesFor} looks for.
 */

import { unreachable } from '../../core/lib/json/pointer.ts';
import { exactInteger, isExactNumber } from '../../core/lib/json/exact-number.ts';
import { type ClaimsOperand, maxMatchedLength, type Predicate } from '../../core/policy/predicate.ts';
import { flawSource } from '../../core/policy/within.ts';
import { belowSource, holdsFor, leavesOf, matching, predicate } from './candidates.ts';
import { and, atom, type Formula, holds, implies, or, type Variable, type Variables } from './formula.ts';
import type { MemberPlace } from './json-object.ts';

/** A way in which a value and the claims that it is compared with can be related. */
interface RelationClass {
  readonly value: unknown;
  readonly claims: readonly unknown[];
  /** Whether values of these classes may be so related; true where that is not known. */
  readonly fits: (value: Found, claims: readonly Found[]) => boolean;
}

/** What may be found at a place. */
interface Found {
  readonly when: Formula;
  readonly value: unknown;
  /** What the predicates of all places that are compared with each other say of it. */
  readonly cell: string;
}

interface Relation {
  readonly key: string;
  readonly place: MemberPlace;
  readonly claims: readonly MemberPlace[];
  readonly variable: Variable;
  readonly classes: readonly RelationClass[];
  readonly operands: Set<ClaimsOperand>;
}

/** Predicates that no policy writes, which tell apart what a relation depends on. */
export function comparedBy({ relation, integer, parts }: ClaimsOperand): readonly Predicate[] {
  const marks = ([...kinds, 'array'] as const).map((kind) =>
    predicate({ kind: 'presence' }, (value) => kind === (Array.isArray(value) ? 'array' : kindOf(value, false))),
  );
  if (integer) marks.push(predicate({ kind: 'integer' }, (value) => comparable(value) !== undefined));
  if (relation !== 'within') return marks;
  const [first] = parts;
  const sources = [flawSource, '/', '^/$', ...(first === undefined ? [] : [belowSource(first)])];
  return [...marks, ...sources.map((source) => matching(source))];
}

/** The places of a space whose values are compared. */
export class Relations {
  readonly #variables: Variables;
  readonly #relations = new Map<string, Relation>();
  readonly #shared: readonly Predicate[];
  readonly #places = new Map<MemberPlace, number>();

  /** @param shared The predicates without operands on all places that are compared with each other. */
  constructor(variables: Variables, shared: readonly Predicate[]) {
    this.#variables = variables;
    this.#shared = shared;
  }

  /** The statement that a predicate which compares with claims holds for what is found at a place. */
  met(place: MemberPlace, claims: readonly MemberPlace[], operand: ClaimsOperand): Formula {
    const relation = this.#relationOf(place, claims, operand);
    relation.operands.add(operand);
    let accepts = 0n;
    for (const [index, { value, claims: values }] of relation.classes.entries())
      if (operand.holds(value, values)) accepts |= 1n << BigInt(index);
    return atom(relation.variable, accepts);
  }

  /** Holds for relations that values can have. Asked for when all relations are known. */
  get constraint(): Formula {
    return and([...this.#relations.values()].map((each) => this.#constraintOf(each)));
  }

  /**
   * Values for the places that are compared, where each variable has one class; undefined if none are found that are
   * related in this way.
   */
  valuesFor(classes: readonly number[]): ReadonlyMap<MemberPlace, unknown> | undefined {
    const relations = [...this.#relations.values()];
    if (relations.length === 0) return new Map();
    const places = [...new Set(relations.flatMap(({ place, claims }) => [...claims, place]))];
    const existing = places.filter((each) => holds(each.exists, classes) && classes[each.variable.index] !== 0);
    const values = new Map<MemberPlace, unknown>();
    let left = MAX_TRIED;
    const isRelated = (): boolean =>
      relations.every(({ place, claims, variable, classes: own, operands }) => {
        const chosen = own[classes[variable.index] ?? 0];
        const value = foundAt(place, classes, values);
        const found = claims.map((claim) => foundAt(claim, classes, values));
        return [...operands].every(
          (operand) => chosen && operand.holds(value, found) === operand.holds(chosen.value, chosen.claims),
        );
      });
    const choose = (at: number): boolean => {
      if ((left -= 1) < 0) return false;
      const place = existing[at];
      if (place === undefined) return isRelated();
      return this.#valuesLike(place, classes, relations, values).some((value) => {
        values.set(place, value);
        return choose(at + 1);
      });
    };
    return choose(0) ? values : undefined;
  }

  /** Excludes the relations, the compared values and the texts of one answer. */
  blocking(classes: readonly number[], texts: readonly Variable[]): Formula {
    const relations = [...this.#relations.values()];
    const variables = relations.flatMap(({ variable, place, claims }) =>
      [variable, place.variable].concat(claims.map((each) => each.variable)),
    );
    return or(
      [...new Set([...variables, ...texts])].map((each) =>
        atom(each, each.all & ~(1n << BigInt(classes[each.index] ?? 0))),
      ),
    );
  }

  #relationOf(place: MemberPlace, claims: readonly MemberPlace[], operand: ClaimsOperand): Relation {
    const family = familyOf(operand);
    const parts = family === 'within' ? operand.parts : [];
    const numbers = [place, ...claims].map((each) => this.#numberOf(each));
    const key = JSON.stringify([family, operand.integer, parts.map((part) => part ?? null), numbers]);
    const known = this.#relations.get(key);
    if (known !== undefined) return known;
    const classes = classesOf(family, operand, this.#shared);
    const variable = this.#variables.add(classes.length);
    const relation = { key, place, claims, variable, classes, operands: new Set<ClaimsOperand>() };
    this.#relations.set(key, relation);
    return relation;
  }

  #numberOf(place: MemberPlace): number {
    const number = this.#places.get(place) ?? this.#places.size;
    this.#places.set(place, number);
    return number;
  }

  #foundAt(place: MemberPlace): readonly Found[] {
    const cell = (value: unknown, assumed?: ReadonlyMap<string, boolean>): string =>
      this.#shared.map((each) => holdsFor(each, { value, assumed })).join(' ');
    return [
      ...place.classes.map(({ value, assumed }, index) => ({
        when: and([place.exists, atom(place.variable, 1n << BigInt(index))]),
        value,
        cell: cell(value, assumed),
      })),
      { when: place.isMissing, value: undefined, cell: '' },
      { when: place.isBlocked, value: unreachable, cell: '' },
    ];
  }

  #constraintOf({ place, claims, variable, classes }: Relation): Formula {
    const values = this.#foundAt(place);
    const [first = [], ...others] = claims.map((each) => this.#foundAt(each));
    const tuples = others.reduce<readonly (readonly Found[])[]>(
      (all, next) => all.flatMap((each) => next.map((one) => [...each, one])),
      first.map((each) => [each]),
    );
    return and(
      classes.map(({ fits }, index) => {
        const fitting = values.map((value) => {
          const some = tuples.filter((tuple) => fits(value, tuple));
          const when = some.length === tuples.length || or(some.map((tuple) => and(tuple.map((each) => each.when))));
          return and([value.when, when]);
        });
        return implies(atom(variable, 1n << BigInt(index)), or(fitting));
      }),
    );
  }

  /** Values that no predicate tells from the one of a class, those first that its relations may ask for. */
  #valuesLike(
    place: MemberPlace,
    classes: readonly number[],
    relations: readonly Relation[],
    values: ReadonlyMap<MemberPlace, unknown>,
  ): readonly unknown[] {
    const candidate = place.classes[classes[place.variable.index] ?? 0];
    const base = candidate?.value;
    if (candidate === undefined || candidate.assumed !== undefined) return [base];
    const own = relations.filter((each) => each.place === place || each.claims.includes(place));
    const near = own.flatMap((each) => [each.place, ...each.claims]).map((each) => foundAt(each, classes, values));
    const isPlain = place.children.length === 0 && place.elements.length === 0;
    const tried = Array.isArray(base) && isPlain ? listsNear(near) : scalarsNear(base, near, own, classes, values);
    const leaves = this.#shared;
    const mark = (value: unknown): string =>
      leaves.map((leaf) => holdsFor(leaf, { value, assumed: undefined })).join(' ');
    const wanted = mark(base);
    return [base, ...tried.filter((each) => typeof each === typeof base && mark(each) === wanted)];
  }
}

const MAX_TRIED = 20_000;

function foundAt(place: MemberPlace, classes: readonly number[], values: ReadonlyMap<MemberPlace, unknown>): unknown {
  if (holds(place.isBlocked, classes)) return unreachable;
  if (!holds(place.exists, classes)) return undefined;
  return values.has(place) ? values.get(place) : place.classes[classes[place.variable.index] ?? 0]?.value;
}

/** Lists of which some have a value in them, and some have not. */
function listsNear(near: readonly unknown[]): readonly unknown[] {
  const scalars = [...new Set(near.filter((each) => kindOf(each, false) !== 'other' && each !== undefined))];
  return [scalars, ...scalars.map((each) => [each]), ['x', 'xx'], [0.25], ['x', 0.25], [true], [false], [null]];
}

function scalarsNear(
  base: unknown,
  near: readonly unknown[],
  relations: readonly Relation[],
  classes: readonly number[],
  values: ReadonlyMap<MemberPlace, unknown>,
): readonly unknown[] {
  const numbers = near.filter((each) => typeof each === 'number');
  const around = [...numbers, ...(typeof base === 'number' ? [base] : [])].flatMap((each) => [
    each,
    each + 1,
    each - 1,
    each + 0.5,
    each - 0.5,
    each / 2,
    each * 2,
  ]);
  const texts = near.filter((each) => typeof each === 'string').filter(({ length }) => length < maxMatchedLength / 2);
  const paths = relations.flatMap(({ claims, operands }) =>
    [...operands]
      .filter(({ relation }) => relation === 'within')
      .map(({ parts }) => {
        let at = 0;
        return parts.map((part) => part ?? String(foundAt(claims[at++] as MemberPlace, classes, values))).join('/');
      }),
  );
  const own =
    typeof base === 'string' ? [`${base}x`, `x${base}`, `${base}1`, `1${base}`, `${base}/x`, 'y', 'yy', '2', 'z'] : [];
  const lists = near.filter((each) => Array.isArray(each)).flat() as readonly unknown[];
  return [
    ...around,
    ...texts,
    ...texts.map((text) => `${text}x`),
    ...paths,
    ...paths.map((path) => `${path}/x`),
    ...lists,
    ...own,
  ];
}

type Family = 'order' | 'one_of' | 'contains' | 'within';

/** Equality and order are one relation: a number that is not above another is equal to it or below. */
function familyOf({ relation }: ClaimsOperand): Family {
  return relation === 'one_of' || relation === 'contains' || relation === 'within' ? relation : 'order';
}

type Kind = 'text' | 'number' | 'boolean' | 'absent' | 'other';

/** The kind of a value, as predicates compare it. */
function kindOf(value: unknown, integer: boolean): Kind {
  if (value === undefined) return 'absent';
  if (integer) return comparable(value) === undefined ? 'other' : 'number';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  return isExactNumber(value) ? 'number' : 'other';
}

function comparable(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value;
  return isExactNumber(number) ? exactInteger(number) : undefined;
}

function classesOf(family: Family, operand: ClaimsOperand, shared: readonly Predicate[]): readonly RelationClass[] {
  switch (family) {
    case 'order':
      return orderClasses(operand.integer, shared);
    case 'one_of':
      return memberClasses(operand.integer);
    case 'contains':
      return listClasses();
    case 'within':
      return pathClasses(operand);
  }
}

const pairs: Readonly<Record<Kind, readonly (readonly [unknown, unknown])[]>> = {
  text: [
    ['a', 'a'],
    ['a', 'b'],
  ],
  number: [
    [1, 1],
    [1, 2],
    [2, 1],
  ],
  boolean: [
    [true, true],
    [true, false],
  ],
  absent: [[undefined, undefined]],
  other: [[null, null]],
};
const kinds = Object.keys(pairs) as readonly Kind[];

function orderClasses(integer: boolean, shared: readonly Predicate[]): readonly RelationClass[] {
  const constants = shared.flatMap(leavesOf).map(({ operand }) => operand);
  const scalars = constants.flatMap((each) => (each.kind === 'scalars' ? each.scalars : []));
  const singles = new Set<unknown>(scalars.filter((each) => typeof each === 'string'));
  const points = [
    ...scalars.filter((each) => typeof each === 'number'),
    ...constants.flatMap((each) => (each.kind === 'bound' ? [each.bound] : [])),
  ];
  const numberOf = (value: unknown): number => (integer ? comparable(value) : (value as number)) ?? Number.NaN;
  /** Whether values like these are all in one order. */
  const areApart = (one: number, other: number): boolean =>
    one !== other && points.some((point) => point >= Math.min(one, other) && point <= Math.max(one, other));
  const fits = (kind: Kind, [one, other]: readonly [unknown, unknown], value: Found, claim: Found): boolean => {
    const isSame = one === other;
    if (kind === 'text')
      return isSame ? value.cell === claim.cell : !(value.value === claim.value && singles.has(value.value));
    if (kind === 'boolean') return isSame === (value.value === claim.value);
    if (kind !== 'number') return true;
    const [first, second] = [numberOf(value.value), numberOf(claim.value)];
    return !areApart(first, second) || Math.sign(first - second) === Math.sign((one as number) - (other as number));
  };
  return kinds.flatMap((kind) =>
    kinds.flatMap((otherKind): readonly RelationClass[] => {
      const isOf = (value: Found, [claim]: readonly Found[]): boolean =>
        kindOf(value.value, integer) === kind && kindOf(claim?.value, integer) === otherKind;
      if (kind !== otherKind) {
        return [{ value: pairs[kind][0]?.[0], claims: [pairs[otherKind][0]?.[1]], fits: isOf }];
      }
      return pairs[kind].map((pair) => ({
        value: pair[0],
        claims: [pair[1]],
        fits: (value, claims) => isOf(value, claims) && fits(kind, pair, value, claims[0] as Found),
      }));
    }),
  );
}

function isScalarKind(value: unknown, integer: boolean): boolean {
  return ['text', 'number', 'boolean'].includes(kindOf(value, integer));
}

function memberClasses(integer: boolean): readonly RelationClass[] {
  const isList = ([claim]: readonly Found[]): boolean => Array.isArray(claim?.value);
  const isValue = ({ value }: Found): boolean => isScalarKind(value, integer);
  return [
    { value: 1, claims: [[1]], fits: (value, claims) => isValue(value) && isList(claims) },
    { value: 1, claims: [[2]], fits: (value, claims) => isValue(value) && isList(claims) },
    // The list is of a wrong type, or the value is, whatever the list has.
    { value: 1, claims: [[]], fits: ({ value }) => value !== undefined },
    { value: undefined, claims: [[1]], fits: ({ value }, claims) => value === undefined && isList(claims) },
    { value: undefined, claims: [[]], fits: ({ value }) => value === undefined },
  ];
}

function listClasses(): readonly RelationClass[] {
  const isValue = ([claim]: readonly Found[]): boolean => isScalarKind(claim?.value, false);
  const isList = ({ value }: Found, claims: readonly Found[]): boolean => Array.isArray(value) && isValue(claims);
  return [
    { value: [1], claims: [1], fits: isList },
    { value: [2], claims: [1], fits: isList },
    { value: ['a'], claims: [1], fits: isList },
    {
      value: 1,
      claims: [1],
      fits: ({ value }, claims) => value !== undefined && !Array.isArray(value) && isValue(claims),
    },
    { value: undefined, claims: [1], fits: ({ value }, claims) => value === undefined && isValue(claims) },
    { value: [1], claims: [undefined], fits: (_, claims) => !isValue(claims) },
  ];
}

function pathClasses({ parts, isUsable }: ClaimsOperand): readonly RelationClass[] {
  const isPath = new RegExp(flawSource, 'u');
  const [first] = parts;
  const beginning = first === undefined ? undefined : new RegExp(belowSource(first), 'u');
  const areUsable = (claims: readonly Found[]): boolean => claims.every(({ value }) => isUsable(value));
  const isSound = ({ value }: Found): boolean => typeof value === 'string' && !isPath.test(value);
  const values = parts.filter((part) => part === undefined).map(() => 'a');
  const inside = parts.map((part) => part ?? 'a').join('/');
  return [
    {
      value: inside,
      claims: values,
      fits: (value, claims) => isSound(value) && areUsable(claims) && beginning?.test(value.value as string) !== false,
    },
    { value: 'b', claims: values, fits: (value, claims) => isSound(value) && areUsable(claims) },
    {
      value: '..',
      claims: values,
      fits: (value, claims) => value.value !== undefined && !isSound(value) && areUsable(claims),
    },
    { value: undefined, claims: values, fits: ({ value }, claims) => value === undefined && areUsable(claims) },
    { value: 'b', claims: values.map(() => undefined), fits: (_, claims) => !areUsable(claims) },
  ];
}
