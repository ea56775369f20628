import { keysOf } from '../../core/lib/json/pointer.ts';
import type { Principal } from '../../core/model/principal.ts';
import { isName } from '../../core/model/caller-key.ts';
import { MAX_ACTORS } from '../../ports/actors.ts';
import type { EarlierCall } from '../../policy-files/policy-tests.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import {
  type ClaimRead,
  type Condition,
  type LeafCondition,
  leavesOf,
} from '../../core/policy/conditions/condition.ts';
import type { GivenApproval } from '../../policy-files/property.ts';
import type { ArgumentCondition } from '../../core/policy/argument.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import type { ClaimOperand } from '../../core/policy/claim.ts';
import { type ClaimsOperand, operandsIn, type Predicate } from '../../core/policy/predicate.ts';
import { Undecidable } from './text-automaton.ts';
import { comparedBy, Relations } from './relations.ts';
import { isExactly, isText, placeOf, type TargetPlace } from './targets.ts';
import { type VariableCondition, variableValue } from '../../core/policy/variable.ts';
import { isUnary, leavesOf as leavesIn } from './candidates.ts';
import { and, atom, classSet, type Formula, implies, not, or, type Variable, Variables } from './formula.ts';
import {
  createObject,
  isUnwritten,
  type JsonObject,
  type MemberPlace,
  type PlaceCondition,
  membersOf,
  placeAt,
  predicateAt,
  withoutVariants,
} from './json-object.ts';
import { onClaims } from './actors.ts';

/** A caller as a test file describes it. */
export interface Given {
  readonly scope?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly lifetime?: string;
  readonly history?: readonly EarlierCall[];
  /** Default: `none`. */
  readonly approval?: GivenApproval;
}

/** The settings of a configuration that concern callers. */
export interface Setting {
  /** Each broader scope with all that it implies. */
  readonly hierarchy: ReadonlyMap<string, readonly string[]>;
  /** The principal of a described caller, as `sallyport test` makes it for an example. */
  readonly callerOf: (given: Given) => Principal;
}

/** A condition on a variable, in the names of one kind of calls. */
export interface TargetCondition {
  readonly condition: VariableCondition;
  readonly place: TargetPlace;
  /** What every such name has there; undefined: any text. */
  readonly fixed: ReturnType<TargetPlace['fixedBy']>;
}

/** A text of a URI that is no UTF-8. */
const BROKEN = '%FF';

interface PlaceCheck {
  readonly rule: string;
  readonly place: MemberPlace;
  readonly predicates: readonly Predicate[];
}

function readAt(place: MemberPlace, { rule, predicates }: Omit<PlaceCheck, 'place'>): PlaceCheck {
  return { rule, place, predicates };
}

/** All callers and all arguments, as far as some conditions can tell them apart. */
export class Space {
  readonly variables = new Variables();
  /** Holds for callers and arguments that exist. */
  readonly constraint: Formula;
  readonly #setting: Setting;
  readonly #scopes: ReadonlyMap<string, Variable>;
  readonly #claims: JsonObject;
  readonly #arguments: JsonObject;
  readonly #targets: JsonObject;
  readonly #inTargets: readonly TargetCondition[];
  readonly #lifetimes: readonly (string | undefined)[];
  readonly #lifetime: Variable;
  /** Without an approval, and with one. */
  readonly #approval: Variable;
  readonly #checks: readonly PlaceCheck[];
  readonly #relations: Relations;

  constructor(
    conditions: readonly Condition[],
    inArguments: readonly ArgumentCondition[],
    setting: Setting,
    asks: readonly ClaimOperand[] = [],
    inTargets: readonly TargetCondition[] = [],
  ) {
    this.#setting = setting;
    const leaves = conditions.flatMap(leavesOf).flatMap(claimLeaves);
    this.#lifetimes = toldApart(
      leaves.filter(({ reads }) => reads.lifetimes.length > 0),
      setting,
    );
    this.#lifetime = this.variables.add(this.#lifetimes.length);
    this.#approval = this.variables.add(2);
    const scopes = leaves.flatMap(({ reads }) => reads.scopes);
    this.#scopes = new Map([...new Set(scopes)].map((scope) => [scope, this.variables.add(2)]));
    const claims = leaves.flatMap(({ rule, reads }) => reads.claims.map((claim) => ({ rule, ...claim })));
    const statedClaims = claims.map((claim) => ({ path: claimPath(claim), predicates: claim.predicates }));
    const ofArguments = inArguments.map(({ pointer, predicates }) => ({ path: keysOf(pointer) ?? [], predicates }));
    const ofTargets = inTargets.map(({ place, fixed, condition }) => ({
      path: [place.id],
      predicates: [...condition.predicates, isText, ...(fixed?.value === undefined ? [] : [isExactly(fixed.value)])],
    }));
    const inCall = [...ofArguments, ...ofTargets];
    const operands = [...operandsIn([...statedClaims, ...inCall].flatMap((each) => each.predicates)), ...asks];
    const paths = [...statedClaims.map(({ path }) => path), ...operands.map(claimPath)];
    const ofActors = actorPlaces(paths);
    const ofClaims = [...statedClaims, ...ofActors];
    const shared = sharedPredicates(ofClaims, inCall, operands);
    const isCompared = ({ predicates }: PlaceCondition): boolean => operandsIn(predicates).length > 0;
    const comparedAt = (each: PlaceCondition): PlaceCondition => ({ path: each.path, predicates: shared });
    this.#relations = new Relations(this.variables, shared);
    this.#claims = createObject(
      [
        ...ofClaims,
        ...ofClaims.filter(isCompared).map(comparedAt),
        ...operands.map((operand) => ({ path: claimPath(operand), predicates: shared })),
      ],
      this.variables,
      setting.callerOf({}).claims,
    );
    this.#arguments = createObject([...ofArguments, ...ofArguments.filter(isCompared).map(comparedAt)], this.variables);
    this.#targets = createObject([...ofTargets, ...ofTargets.filter(isCompared).map(comparedAt)], this.variables);
    this.#inTargets = inTargets;
    this.#checks = [
      ...claims.map((claim) => readAt(placeAt(this.#claims.places, claimPath(claim)), claim)),
      ...inArguments.map((each) => readAt(placeAt(this.#arguments.places, keysOf(each.pointer) ?? []), each)),
      ...inTargets.map(({ place, condition }) => readAt(placeAt(this.#targets.places, [place.id]), condition)),
    ];
    const { constraint, places } = this.#arguments;
    this.constraint = and([
      constraint,
      withoutVariants(places),
      this.#claims.constraint,
      ...inTargets.map((each) => this.#standsIn(each)),
      ...ofActors.map(({ path }) => this.#isActor(path)),
      this.#hierarchy(),
      this.#registered(),
    ]);
  }

  /** The statement that a condition is met. */
  met(leaf: LeafCondition): Formula {
    const { scopes, claims, lifetimes } = leaf.reads;
    return and([
      ...scopes.map((scope) => this.holds(scope)),
      ...claims.flatMap((claim) => {
        const place = placeAt(this.#claims.places, claimPath(claim));
        return claim.predicates.map((predicate) => predicateAt(place, predicate, this.#compared));
      }),
      ...lifetimes.map(() =>
        atom(
          this.#lifetime,
          classSet(this.#lifetimes, (lifetime) => isMet(leaf, lifetime, this.#setting)),
        ),
      ),
    ]);
  }

  /** The statement that a condition on an argument is met. */
  metBy({ pointer, predicates }: ArgumentCondition): Formula {
    const place = placeAt(this.#arguments.places, keysOf(pointer) ?? []);
    return and(predicates.map((each) => predicateAt(place, each, this.#compared)));
  }

  /** The statement that a condition on a variable is met. What decodes to no segment meets none. */
  metByVariable(condition: VariableCondition): Formula {
    const place = placeAt(this.#targets.places, [placeOf(condition).id]);
    return and([isText, ...condition.predicates].map((each) => predicateAt(place, each, this.#compared)));
  }

  /** Holds for texts that a name can have at a place. */
  #standsIn({ place: { id, mayBeBroken }, fixed }: TargetCondition): Formula {
    const place = placeAt(this.#targets.places, [id]);
    const at = (predicate: Predicate): Formula => predicateAt(place, predicate, this.#compared);
    if (fixed === undefined) return or([at(isText), mayBeBroken ? isUnwritten(place) : false]);
    return fixed.value === undefined ? isUnwritten(place) : at(isExactly(fixed.value));
  }

  /** Holds for values that can be related as statements say of them. Asked for after all statements were made. */
  get comparable(): Formula {
    return this.#relations.constraint;
  }

  /** The statement that a value can be compared with a claim of the caller. */
  isUsable(claim: ClaimOperand, operand: ClaimsOperand): Formula {
    const { variable, classes, exists } = placeAt(this.#claims.places, claimPath(claim));
    if (operand.relation === 'one_of') throw new Undecidable(`what is in the list of claim ${claim.name}`);
    const usable = classSet(classes, ({ value }) => operand.isUsable(value));
    return and([exists, atom(variable, usable)]);
  }

  /** Values that are compared, where each variable has one class; undefined if none are known. */
  comparedValues(classes: readonly number[]): ReadonlyMap<MemberPlace, unknown> | undefined {
    return this.#relations.valuesFor(classes);
  }

  /** Excludes how values are compared in one answer. */
  otherwiseCompared(classes: readonly number[]): Formula {
    const targets = this.#targets.places.map(({ variable }) => variable);
    return this.#relations.blocking(classes, targets);
  }

  /**
   * A name of a call with the texts of its variables, where each variable has one class; undefined if it can be read
   * in another way too.
   */
  named(name: string, classes: readonly number[], values: ReadonlyMap<MemberPlace, unknown>): string | undefined {
    const texts = membersOf(this.#targets.places, classes, values);
    const written = this.#inTargets
      .filter(({ fixed }) => fixed === undefined)
      .reduce((before, { place }) => {
        const text = texts[place.id];
        return place.written(before, typeof text === 'string' ? encodeURIComponent(text) : BROKEN);
      }, name);
    const isReadSo = ({ condition, place }: TargetCondition): boolean => {
      const read = condition.textsIn(written);
      return read.length > 0 && read.every((text) => variableValue(text) === texts[place.id]);
    };
    return this.#inTargets.every(isReadSo) ? written : undefined;
  }

  /** Holds for names whose variables all have a text. */
  get isReadable(): Formula {
    return and(this.#inTargets.map(({ place: { id } }) => not(isUnwritten(placeAt(this.#targets.places, [id])))));
  }

  /** Whether names of calls have texts that conditions tell apart. */
  get hasTargets(): boolean {
    return this.#inTargets.length > 0;
  }

  readonly #compared = (place: MemberPlace, operand: ClaimsOperand): Formula => {
    const claims = operand.claims.map((claim) => placeAt(this.#claims.places, claimPath(claim)));
    return this.#relations.met(place, claims, operand);
  };

  /** The statement that the call has an approval. */
  get hasApproval(): Formula {
    return atom(this.#approval, 2n);
  }

  /** The caller and the arguments, where each variable has one class. */
  described(
    classes: readonly number[],
    values: ReadonlyMap<MemberPlace, unknown> = new Map(),
  ): { readonly given: Given; readonly arguments: Record<string, unknown> } {
    const held = [...this.#scopes].filter(([, { index }]) => classes[index] === 1).map(([scope]) => scope);
    const granted = this.#withoutImplied(held);
    const claims = membersOf(this.#claims.places, classes, values);
    const lifetime = this.#lifetimes[classes[this.#lifetime.index] ?? 0];
    const given = {
      ...(granted.length > 0 && { scope: granted.join(' ') }),
      ...(Object.keys(claims).length > 0 && { claims }),
      ...(lifetime !== undefined && { lifetime }),
      ...(classes[this.#approval.index] === 1 && { approval: 'approved' as const }),
    };
    return { given, arguments: membersOf(this.#arguments.places, classes, values) };
  }

  /** What was assumed of patterns that no automaton decides, where each variable has one class: rule and reason. */
  assumptions(classes: readonly number[]): readonly string[] {
    return this.#checks.flatMap(({ rule, place, predicates }) => {
      const assumed = place.classes[classes[place.variable.index] ?? 0]?.assumed;
      const patterns = predicates
        .flatMap(leavesIn)
        .map(({ operand }) => (operand.kind === 'pattern' ? operand.source : ''));
      return patterns.flatMap((source) =>
        assumed?.has(source) === true ? [`${rule}: ${describeValue(source)}: ${place.undecided.get(source)}`] : [],
      );
    });
  }

  /** When the caller's token has a scope. */
  holds(scope: string): Formula {
    const variable = this.#scopes.get(scope);
    if (variable === undefined) throw new TypeError(`no scope ${scope}`);
    return atom(variable, 2n);
  }

  /** A token has actors only in the form that the gateway reads: an object, and a name in it. */
  #isActor(path: readonly string[]): Formula {
    const place = placeAt(this.#claims.places, path);
    const around = path.slice(0, -1);
    const isOf = (test: (value: unknown) => boolean): Formula =>
      atom(
        place.variable,
        classSet(place.classes, ({ value }) => test(value)),
      );
    if (path.at(-1) === 'act') return or([isUnwritten(place), isOf(isObject)]);
    return implies(not(isUnwritten(placeAt(this.#claims.places, around))), and([isOf(isName)]));
  }

  /** A token with a broader scope has all narrower ones. */
  #hierarchy(): Formula {
    return and(
      [...this.#scopes.keys()].flatMap((broader) =>
        (this.#setting.hierarchy.get(broader) ?? [])
          .filter((narrower) => this.#scopes.has(narrower))
          .map((narrower) => implies(this.holds(broader), this.holds(narrower))),
      ),
    );
  }

  /** Scopes and dates of a token are among its claims, unless the claims say something else. */
  #registered(): Formula {
    const { callerOf } = this.#setting;
    const isGranted = [...this.#scopes.keys()].map((scope) => this.holds(scope));
    const hasLifetime = atom(this.#lifetime, this.#lifetime.all & ~1n);
    const byScope = callerOf({ scope: 'x' }).claims;
    const byLifetime = callerOf({ lifetime: '1s' }).claims;
    const always = callerOf({}).claims;
    return and(
      this.#claims.places.map((place) => {
        if (Object.hasOwn(always, place.key)) return true;
        if (Object.hasOwn(byScope, place.key))
          return and(isGranted.map((each) => implies(each, not(isUnwritten(place)))));
        return Object.hasOwn(byLifetime, place.key) ? implies(hasLifetime, not(isUnwritten(place))) : true;
      }),
    );
  }

  /** The fewest scopes that a token needs in order to have all of some. */
  #withoutImplied(held: readonly string[]): readonly string[] {
    const { hierarchy } = this.#setting;
    return held.reduce((granted, scope) => {
      const others = granted.filter((each) => each !== scope);
      return others.some((each) => hierarchy.get(each)?.includes(scope)) ? others : granted;
    }, held);
  }
}

/** What tells apart values that are compared: every predicate on one of them, and what relations depend on. */
function sharedPredicates(
  ofClaims: readonly PlaceCondition[],
  ofArguments: readonly PlaceCondition[],
  operands: readonly ClaimOperand[],
): readonly Predicate[] {
  if (operands.length === 0) return [];
  const pathOf = ({ path }: PlaceCondition): string => JSON.stringify(path);
  const comparedIn = (all: readonly PlaceCondition[], named: readonly string[]): readonly PlaceCondition[] => {
    const paths = new Set([...named, ...all.filter(({ predicates }) => operandsIn(predicates).length > 0).map(pathOf)]);
    return all.filter((each) => paths.has(pathOf(each)));
  };
  const named = operands.map((each) => JSON.stringify(claimPath(each)));
  const compared = [...comparedIn(ofClaims, named), ...comparedIn(ofArguments, [])];
  const leaves = compared.flatMap(({ predicates }) => predicates.flatMap(leavesIn));
  return [
    ...leaves.filter((leaf) => isUnary(leaf) && leaf.operand.kind !== 'element'),
    ...leaves.flatMap(({ operand }) => (operand.kind === 'claims' ? comparedBy(operand) : [])),
  ];
}

/** A condition on actors as the conditions on claims that state the same. */
function claimLeaves(leaf: LeafCondition): readonly LeafCondition[] {
  const { actors } = leaf.reads;
  if (actors === undefined) return [leaf];
  const condition = onClaims(actors);
  return condition === undefined ? [] : leavesOf(condition);
}

/** The places of the actors that paths lead to, as far as the chain can be read. */
function actorPlaces(paths: readonly (readonly string[])[]): readonly PlaceCondition[] {
  const depths = paths
    .map((path) => path.findIndex((key) => key !== 'act'))
    .map((depth, index) => (depth < 0 ? (paths[index]?.length ?? 0) : depth));
  const depth = Math.min(MAX_ACTORS, Math.max(0, ...depths));
  return Array.from({ length: depth }, (_, index) => Array.from({ length: index + 1 }, () => 'act')).flatMap((path) => [
    { path, predicates: [isAnObject] },
    { path: [...path, 'sub'], predicates: [isAName] },
  ]);
}

/** Predicates that no policy writes, which tell apart what actors must be. */
const isAnObject: Predicate = { wanted: '', operand: { kind: 'presence' }, test: isObject };
const isAName: Predicate = { wanted: '', operand: { kind: 'scalars', scalars: [''], integer: false }, test: isName };

function claimPath({ name }: Pick<ClaimRead, 'name'>): readonly string[] {
  return name.startsWith('/') ? (keysOf(name) ?? []) : [name];
}

/** The first of all lifetimes that conditions cannot tell apart. The first: none. */
function toldApart(conditions: readonly LeafCondition[], setting: Setting): readonly (string | undefined)[] {
  const first = new Map<string, string | undefined>();
  for (const lifetime of representativeLifetimes(conditions.flatMap(({ reads }) => reads.lifetimes))) {
    const key = `${lifetime === undefined} ${conditions.map((each) => isMet(each, lifetime, setting)).join(' ')}`;
    if (!first.has(key)) first.set(key, lifetime);
  }
  return [...first.values()];
}

function isMet({ judge }: LeafCondition, lifetime: string | undefined, { callerOf }: Setting): boolean {
  return judge(callerOf(lifetime === undefined ? {} : { lifetime })) === 'met';
}

/** The units of a duration, longest first. */
const units = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const MAX_COUNT = 999_999_999;

/**
 * Lifetimes on both sides of some bounds, in seconds, simplest first. A duration has at most nine digits, so that
 * those next to a bound may be farther away than a millisecond. Undefined: the token says neither `exp` nor `iat`.
 */
export function representativeLifetimes(bounds: readonly number[]): readonly (string | undefined)[] {
  const atBounds = bounds.flatMap((seconds) => written(seconds * 1000));
  const above = bounds.flatMap((seconds) => units.toReversed().flatMap(([, ms]) => after(seconds * 1000, ms)));
  const below = bounds.flatMap((seconds) => written(seconds * 1000 - 1));
  return [...new Set([undefined, ...atBounds, ...above.toSorted(simplestFirst), ...below])];
}

function after(ms: number, unit: number): readonly string[] {
  return written((Math.floor(ms / unit) + 1) * unit);
}

/** A time as a duration, if there is one. Up to a quarter of an hour it is in seconds, as most policies write it. */
function written(ms: number): readonly string[] {
  if (ms <= 0) return [];
  if (ms % 1000 === 0 && ms <= 900_000) return [`${ms / 1000}s`];
  const unit = units.find(([, size]) => ms % size === 0 && ms / size <= MAX_COUNT);
  return unit === undefined ? [] : [`${ms / unit[1]}${unit[0]}`];
}

function simplestFirst(one: string, other: string): number {
  return one.length - other.length;
}
