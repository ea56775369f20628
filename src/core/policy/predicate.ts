import type { DocumentPath, PolicyFault, PredicateDocument, Scalar, ValueDocument } from './document.ts';
import { unreachable } from '../lib/json/pointer.ts';
import { describeValue } from '../lib/json/describe-value.ts';

/** A compiled predicate on one JSON value. A missing value is `undefined`. */
export interface Predicate {
  /** What the value must be, as in `wanted …, found …`. */
  readonly wanted: string;
  readonly operand: Operand;
  /** @throws {RangeError} for a value that cannot be tested; a denial then, also under `not`. */
  readonly test: (value: unknown) => boolean;
}

/**
 * What a predicate compares a value with. It determines which values the predicate can tell apart. `integer`: numbers
 * are parsed from strings.
 */
export type Operand =
  | { readonly kind: 'integer' }
  | { readonly kind: 'scalars'; readonly scalars: readonly Scalar[]; readonly integer: boolean }
  | { readonly kind: 'element'; readonly element: Scalar }
  | { readonly kind: 'bound'; readonly bound: number; readonly integer: boolean }
  | { readonly kind: 'pattern'; readonly source: string }
  | { readonly kind: 'presence' }
  | { readonly kind: 'not'; readonly excluded: readonly Predicate[] };

/**
 * Longest string that `matches` tests, in UTF-16 code units; `slow-pattern.ts` bounds the time for each of them.
 */
export const maxMatchedLength = 4096;

/** The most elements of a list that are tried, to find one that predicates accept. */
const MAX_TRIED = 32;

/** The most values of a list that a denial names. */
const maxListed = 8;

/**
 * How a value of another type than a predicate compares is read. `direct`: it fails the predicate. `negated`, under an
 * odd number of `not`: it counts as excluded, so that it fails the `not` too. `literal`: it fails the predicate under
 * `not` as well, so that `not` is the exact complement. `cautious`: it meets the predicate, as an absent value does;
 * `spared`: neither does, under an odd number of `not` in a cautious condition. Policies are direct, properties are
 * literal, and `when` of an approval is cautious: only a value of the right type spares a call from it.
 */
export type Reading = 'direct' | 'negated' | 'literal' | 'cautious' | 'spared';

const opposites: Readonly<Record<Reading, Reading>> = {
  direct: 'negated',
  negated: 'direct',
  literal: 'literal',
  cautious: 'spared',
  spared: 'cautious',
};

/** The reading under one more `not`. */
export function underNot(reading: Reading): Reading {
  return opposites[reading];
}

function acceptsMistyped(reading: Reading): boolean {
  return reading === 'negated' || reading === 'cautious';
}

interface Context {
  /** Where it stands. */
  readonly path: DocumentPath;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
  /** Whether numbers are parsed first. A `not` inherits it: `{ integer: true, not: 5 }` excludes the claim "5" too. */
  readonly integer: boolean;
  readonly reading: Reading;
}

type Wanted = Required<PredicateDocument>;

/**
 * Every predicate, in the order in which a value meets them. One that cannot be compiled adds a fault.
 *
 * A new one is a member of {@link PredicateDocument}, a property in `schema/policy.schema.json` and a row here.
 */
const predicates: {
  readonly [Name in keyof Wanted]: (wanted: Wanted[Name], context: Context) => Predicate | undefined;
} = {
  integer: (_, { reading }) => typed('an integer', { kind: 'integer' }, reading, isInteger, () => true),
  equals: (value, context) => oneOf([value], context),
  one_of: oneOf,
  contains,
  below: comparison('below', (found, bound) => found < bound),
  at_most: comparison('of at most', (found, bound) => found <= bound),
  above: comparison('above', (found, bound) => found > bound),
  at_least: comparison('of at least', (found, bound) => found >= bound),
  matches,
  present,
  not,
};

const names = Object.keys(predicates) as readonly (keyof Wanted)[];

/**
 * Compiles a condition on one value; all predicates returned must hold. Values are never coerced: number 1 is not
 * `"1"`, and only finite numbers are below or above one. Appends to `faults` what cannot be compiled.
 *
 * A value of a type that a predicate cannot compare is never evidence, neither for it nor, under `not`, against it: the
 * upstream may read `"5000"` or `[5000]` as the number that `not: { above: 1000 }` excludes.
 *
 * @param reading How the whole is read.
 */
export function compilePredicates(
  value: ValueDocument,
  path: DocumentPath,
  faults: PolicyFault[],
  reading: Reading = 'direct',
): readonly Predicate[] {
  return compile(value, { path, faults, integer: false, reading });
}

/** The expectation of predicates together, in words. */
export function wantedBy(predicates: readonly Predicate[]): string {
  // The words of a bound on integers say that it wants an integer.
  const isBound = predicates.some(({ operand }) => operand.kind === 'bound' && operand.integer);
  const said = predicates.filter(({ operand }) => !isBound || operand.kind !== 'integer');
  return said.map(({ wanted }) => wanted).join(' and ');
}

/**
 * A value that predicates were applied to, in words. If they refuse a list because they want one of its elements, it
 * names the remedy: servers send a role as a string, or as a list.
 */
export function describeFound(found: unknown, predicates: readonly Predicate[]): string {
  const words = describeValue(found);
  if (!Array.isArray(found) || accept(predicates, found)) return words;
  const isList = found.slice(0, MAX_TRIED).some((each) => typeof each === 'string' && accept(predicates, each));
  return isList ? `${words}; use contains for a list` : words;
}

function accept(predicates: readonly Predicate[], value: unknown): boolean {
  try {
    return predicates.every(({ test }) => test(value));
  } catch {
    // A value that cannot be tested. The decision is made elsewhere: an error here must not change it.
    return false;
  }
}

function compile(value: ValueDocument, context: Context): readonly Predicate[] {
  const mapping = asMapping(value);
  const integer = context.integer || mapping.integer === true;
  return names.flatMap((name) => {
    // Shorthands have no member of their own to point at.
    const path = mapping === value ? [...context.path, name] : context.path;
    return compileOne(name, mapping[name], { ...context, path, integer }) ?? [];
  });
}

function compileOne<Name extends keyof Wanted>(
  name: Name,
  wanted: Wanted[Name] | undefined,
  context: Context,
): Predicate | undefined {
  return wanted === undefined ? undefined : predicates[name](wanted, context);
}

/**
 * A predicate on values of one type. The reading decides on a missing value, and on one of another type.
 */
function typed<Value>(
  wanted: string,
  operand: Operand,
  reading: Reading,
  isTyped: (found: unknown) => found is Value,
  holds: (found: Value) => boolean,
): Predicate {
  const mistyped = acceptsMistyped(reading);
  const absent = reading === 'cautious';
  return {
    operand,
    wanted: mistyped ? `${wanted} (or another type)` : wanted,
    test: (found) => (found === undefined ? absent : isTyped(found) ? holds(found) : mistyped),
  };
}

function asMapping(value: ValueDocument): PredicateDocument {
  if (isList(value)) return { one_of: value };
  return typeof value === 'object' ? value : { equals: value };
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(value: ValueDocument): value is readonly Scalar[] {
  return Array.isArray(value);
}

/**
 * A JSON integer, or a string that is one: an optional `-` and decimal digits. Beyond 2^53 both are rounded: not one.
 */
function parseInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

function isInteger(value: unknown): value is number | string {
  return parseInteger(value) !== undefined;
}

function oneOf(values: readonly Scalar[], context: Context): Predicate {
  for (const value of values) checkComparable(value, context);
  const { integer, reading } = context;
  const accepted: ReadonlySet<unknown> = new Set(values);
  const types: ReadonlySet<string> = new Set(values.map((value) => typeof value));
  const names = values.slice(0, maxListed).map(describeValue).join(', ') + (values.length > maxListed ? ', …' : '');
  const parses = (found: unknown): boolean => integer && types.has('number') && isInteger(found);
  // Arrays and objects are never in the set: `contains` tests elements.
  return typed(
    values.length === 1 ? names : `one of ${names}`,
    { kind: 'scalars', scalars: values, integer },
    reading,
    (found): found is Scalar => types.has(typeof found) || parses(found),
    (found) => accepted.has(found) || (integer && accepted.has(parseInteger(found))),
  );
}

function contains(element: Scalar, context: Context): Predicate {
  checkComparable(element, context);
  const { reading } = context;
  const mistyped = acceptsMistyped(reading);
  // A string never contains anything, even one separated by spaces: "no-trader x" contains "trader" too.
  return typed(
    `an array that contains ${describeValue(element)}`,
    { kind: 'element', element },
    reading,
    (found): found is unknown[] => Array.isArray(found),
    (found) => found.includes(element) || (mistyped && found.some((each) => typeof each !== typeof element)),
  );
}

/** Reports a number that a token cannot carry, or that other numbers in a token would be rounded to. */
function checkComparable(value: Scalar, { path, faults }: Context): void {
  if (typeof value !== 'number') return;
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return;
  faults.push({
    path,
    message: `${value} cannot be compared exactly; write a number up to 2^53 - 1, or a string`,
  });
}

/** A predicate on numbers, in words after `a number`. */
function comparison(words: string, holds: (found: number, bound: number) => boolean) {
  return (bound: number, { path, faults, integer, reading }: Context): Predicate => {
    if (!Number.isFinite(bound)) faults.push({ path, message: `${bound} is not a finite number` });
    const wanted = `${integer ? 'an integer' : 'a number'} ${words} ${bound}`;
    const operand = { kind: 'bound', bound, integer } as const;
    return typed(wanted, operand, reading, integer ? isInteger : isFinite, (found) => holds(Number(found), bound));
  };
}

/** JSON.parse reads 1e999 as Infinity. */
function isFinite(value: unknown): value is number | string {
  return Number.isFinite(value);
}

function matches(source: string, { path, faults, reading }: Context): Predicate | undefined {
  let expression: RegExp;
  try {
    // Not `v`, which rejects the common `[a-z-]`. Neither `g` nor `y`: the expression must keep no state.
    expression = new RegExp(source, 'u');
  } catch (error) {
    // V8 repeats the whole source, with its line breaks, before the actual error.
    const why = (error as SyntaxError).message.replace(/[^]*: /, '');
    const remedy = remedyFor(source);
    faults.push({
      path,
      message: `${describeValue(source)} is not a JavaScript regular expression with the u flag: ${why}${remedy}`,
    });
    return undefined;
  }
  const isString = (found: unknown): found is string => typeof found === 'string';
  const operand = { kind: 'pattern', source } as const;
  return typed(`a string that matches ${describeValue(source)}`, operand, reading, isString, (found) => {
    // Not false: under `not`, a caller could pass with a claim that is long enough.
    if (found.length > maxMatchedLength) {
      throw new RangeError(`matches tests ${maxMatchedLength} characters, found ${found.length}`);
    }
    return expression.test(found);
  });
}

/** What to write instead of what other engines and shells accept. */
function remedyFor(source: string): string {
  if (/\$\{[\w.:-]+\}/.test(source)) return '; a pattern cannot name a claim: write the value itself';
  if (/\(\?[a-z]+\)/.test(source)) return '; flags cannot be set: write [Hh] for a letter in either case';
  return source.startsWith('*') ? '; write .* for any run of characters, or \\* for the character' : '';
}

/** Null counts as absent: some servers send it for a claim without a value. */
function present(wanted: boolean, { reading }: Context): Predicate {
  return {
    operand: { kind: 'presence' },
    wanted: wanted ? 'a value' : 'no value',
    test: (found) =>
      found === unreachable ? acceptsMistyped(reading) : (found !== undefined && found !== null) === wanted,
  };
}

function not(value: ValueDocument, context: Context): Predicate {
  const excluded = compile(value, { ...context, reading: underNot(context.reading) });
  return {
    operand: { kind: 'not', excluded },
    wanted: `not ${wantedBy(excluded)}`,
    test: (found) => !excluded.every(({ test }) => test(found)),
  };
}
