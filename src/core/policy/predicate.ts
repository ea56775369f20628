import type {
  DocumentPath,
  OperandDocument,
  PolicyFault,
  PredicateDocument,
  Scalar,
  ValueDocument,
} from './document.ts';
import { unreachable } from '../lib/json/pointer.ts';
import { describeValue } from '../lib/json/describe-value.ts';
import { compareNumbers, exactInteger, isExactNumber } from '../lib/json/exact-number.ts';
import { type Caller, type ClaimOperand, compileOperand, operandInWords } from './claim.ts';
import { pathPrefixFlaw, segmentFlaw, valueFlaw, withoutEnd } from './within.ts';

/** A compiled predicate on one JSON value. A missing value is `undefined`. */
export interface Predicate {
  /** What the value must be, as in `wanted …, found …`. It names claims, and shows none of their values. */
  readonly wanted: string;
  /** {@link wanted} with the values of the claims that it names. Default: it names none. */
  readonly wantedOf?: (caller: Caller, show: Show) => string;
  readonly operand: Operand;
  /**
   * Tests a value. Without a caller every claim is absent.
   *
   * @param exact The value with the digits of numbers that JavaScript would change; default: there are none.
   * @throws {RangeError} for a value that cannot be tested; a denial then, also under `not`.
   */
  readonly test: (value: unknown, caller?: Caller, exact?: unknown) => boolean;
}

/** Puts the value of a claim into words; `''`: the claim is only named. */
type Show = (value: unknown) => string;

/** Shows what keeps a claim from being compared, and no value that is. Arguments are refused in such words. */
export function showUnusable(value: unknown): string {
  return isScalar(value) ? '' : describeValue(value);
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
  | ClaimsOperand
  | { readonly kind: 'not'; readonly excluded: readonly Predicate[] };

/** The claims that a value is compared with. */
export interface ClaimsOperand {
  readonly kind: 'claims';
  readonly relation: Relation;
  readonly claims: readonly ClaimOperand[];
  /** Of `within`: the constants between the claims, which `undefined` stands for. */
  readonly parts: readonly (string | undefined)[];
  readonly integer: boolean;
  /** Tests a value against values of the claims. */
  readonly holds: (value: unknown, claims: readonly unknown[]) => boolean;
  /** Whether some value can be compared with this value of one of the claims. */
  readonly isUsable: (claim: unknown) => boolean;
}

/** The predicates that take an operand. */
type Relation = 'equals' | 'one_of' | 'contains' | 'below' | 'at_most' | 'above' | 'at_least' | 'within';

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

/** The end of the words for what a predicate accepts. */
function otherTypes(reading: Reading): string {
  return acceptsMistyped(reading) ? ' (or another type)' : '';
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
 * A new one is a property of `value` in `schema/core/policy.schema.json`, and a row here.
 */
const predicates: {
  readonly [Name in keyof Wanted]: (wanted: Wanted[Name], context: Context) => Predicate | undefined;
} = {
  integer: (_, { reading }) => typed('an integer', { kind: 'integer' }, reading, isInteger, () => true),
  equals: (value, context) => (isOperand(value) ? equalTo(value, context) : oneOf([value], context)),
  one_of: (values, context) => (isOperand(values) ? memberOf(values, context) : oneOf(values, context)),
  contains: (element, context) => (isOperand(element) ? containing(element, context) : contains(element, context)),
  below: comparison('below', (difference) => difference < 0),
  at_most: comparison('at_most', (difference) => difference <= 0),
  above: comparison('above', (difference) => difference > 0),
  at_least: comparison('at_least', (difference) => difference >= 0),
  matches,
  within,
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

/** The claims that predicates compare with, under any number of `not`. */
export function operandsIn(predicates: readonly Predicate[]): readonly ClaimOperand[] {
  return predicates.flatMap(({ operand }) => {
    if (operand.kind === 'not') return operandsIn(operand.excluded);
    return operand.kind === 'claims' ? operand.claims : [];
  });
}

/**
 * The expectation of predicates together, in words.
 *
 * @param of With the caller, the values of claims that they name are shown.
 */
export function wantedBy(predicates: readonly Predicate[], of?: { caller: Caller; show: Show }): string {
  // The words of a bound on integers say that it wants an integer.
  const isBound = predicates.some(
    ({ operand }) =>
      (operand.kind === 'bound' || (operand.kind === 'claims' && operand.relation in orderInWords)) && operand.integer,
  );
  const said = predicates.filter(({ operand }) => !isBound || operand.kind !== 'integer');
  return said
    .map(({ wanted, wantedOf }) => (of === undefined || wantedOf === undefined ? wanted : wantedOf(of.caller, of.show)))
    .join(' and ');
}

/**
 * A value that predicates were applied to, in words. If they refuse a list because they want one of its elements, it
 * names the remedy: servers send a role as a string, or as a list.
 */
export function describeFound(found: unknown, predicates: readonly Predicate[], caller?: Caller): string {
  const words = describeValue(found);
  if (!Array.isArray(found) || accept(predicates, found, caller)) return words;
  const isList = found.slice(0, MAX_TRIED).some((each) => typeof each === 'string' && accept(predicates, each, caller));
  return isList ? `${words}; use contains for a list` : words;
}

function accept(predicates: readonly Predicate[], value: unknown, caller?: Caller): boolean {
  try {
    return predicates.every(({ test }) => test(value, caller));
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
    wanted: wanted + otherTypes(reading),
    test: (found) => (found === undefined ? absent : isTyped(found) ? holds(found) : mistyped),
  };
}

function asMapping(value: ValueDocument): PredicateDocument {
  if (isList(value)) return { one_of: value };
  return typeof value !== 'object' || isOperand(value) ? { equals: value } : value;
}

function isOperand(value: Scalar | object): value is OperandDocument {
  return typeof value === 'object' && ('claim' in value || 'caller' in value);
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

const orderInWords = {
  below: 'below',
  at_most: 'of at most',
  above: 'above',
  at_least: 'of at least',
} as const satisfies Readonly<Partial<Record<Relation, string>>>;

/** A predicate on numbers, by the sign of the difference between the value and the bound. */
function comparison(relation: keyof typeof orderInWords, holds: (difference: number) => boolean) {
  return (bound: number | OperandDocument, context: Context): Predicate => {
    const { path, faults, integer, reading } = context;
    const words = `${integer ? 'an integer' : 'a number'} ${orderInWords[relation]}`;
    if (isOperand(bound)) {
      return withClaim(
        relation,
        bound,
        context,
        (claim) => `${words} ${claim}`,
        (found, claim) => {
          const one = comparable(found, integer);
          const other = comparable(claim, integer);
          if (!isExactNumber(one) || !isExactNumber(other)) return undefined;
          return holds(compareNumbers(one, other));
        },
      );
    }
    if (!Number.isFinite(bound)) faults.push({ path, message: `${bound} is not a finite number` });
    const wanted = `${words} ${bound}`;
    const operand = { kind: 'bound', bound, integer } as const;
    return typed(wanted, operand, reading, integer ? isInteger : isFinite, (found) => holds(Number(found) - bound));
  };
}

/** Whether a value is as the value of a claim wants; undefined if the claim, or the value beside it, is mistyped. */
type Comparison = (found: unknown, claim: unknown) => boolean | undefined;

/**
 * A predicate that compares with a claim. A claim that is absent or mistyped is no evidence: the predicate fails, also
 * under `not`, whatever the value is.
 */
function withClaim(
  relation: Exclude<Relation, 'within'>,
  document: OperandDocument,
  { path, faults, integer, reading }: Context,
  words: (claim: string) => string,
  compare: Comparison,
): Predicate {
  const claim = compileOperand(document, path, faults);
  const mistyped = acceptsMistyped(reading);
  const absent = reading === 'cautious';
  const { valueFor } = claim;
  const holds = (found: unknown, value: unknown): boolean => {
    // Any value tells whether the claim is of a type that can be compared at all.
    if (found === undefined) return isUsable(relation, value, integer) ? absent : mistyped;
    return compare(found, value) ?? mistyped;
  };
  const inWords = (operand: string): string => words(operand) + otherTypes(reading);
  return {
    operand: {
      kind: 'claims',
      relation,
      claims: [claim],
      parts: [undefined],
      integer,
      holds: (found, [value]) => holds(found, value),
      isUsable: (value) => isUsable(relation, value, integer),
    },
    wanted: inWords(operandInWords(claim)),
    wantedOf: (caller, show) => inWords(shown(claim, caller, show)),
    test: (found, caller, exact = found) => holds(exact, caller && valueFor(caller)),
  };
}

/** An operand in words, with its value. */
function shown(claim: ClaimOperand, caller: Caller, show: Show): string {
  const value = show(claim.valueFor(caller));
  return value === '' ? operandInWords(claim) : `${operandInWords(claim)} (${value})`;
}

/** Whether some value can be compared with a claim. */
function isUsable(relation: Exclude<Relation, 'within'>, claim: unknown, integer: boolean): boolean {
  if (relation === 'one_of') {
    return isListOfScalars(claim, integer) && claim.some((each) => comparable(each, integer) !== undefined);
  }
  const value = comparable(claim, integer);
  return relation in orderInWords ? isExactNumber(value) : isScalar(value);
}

/** A value as it is compared: with `integer`, the integer that it is, or undefined. */
function comparable(value: unknown, integer: boolean): unknown {
  if (!integer) return value;
  if (typeof value === 'string') return parseInteger(value);
  return isExactNumber(value) ? exactInteger(value) : undefined;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || isExactNumber(value);
}

/**
 * Whether two values of one type are equal: texts exactly, and numbers by their decimal values. Undefined for values of
 * two types, or of a type that is not compared.
 */
function equality(one: unknown, other: unknown): boolean | undefined {
  if (typeof one === 'string' || typeof one === 'boolean')
    return typeof one === typeof other ? one === other : undefined;
  return isExactNumber(one) && isExactNumber(other) ? compareNumbers(one, other) === 0 : undefined;
}

function equalTo(document: OperandDocument, context: Context): Predicate {
  const { integer } = context;
  return withClaim(
    'equals',
    document,
    context,
    (claim) => claim,
    (found, claim) => equality(comparable(found, integer), comparable(claim, integer)),
  );
}

function memberOf(document: OperandDocument, context: Context): Predicate {
  const { integer } = context;
  return withClaim(
    'one_of',
    document,
    context,
    (claim) => `one of ${claim}`,
    (found, claim) => {
      if (!isListOfScalars(claim, integer)) return undefined;
      const value = comparable(found, integer);
      let isMember: boolean | undefined;
      for (const each of claim) {
        const isEqual = equality(comparable(each, integer), value);
        if (isEqual === true) return true;
        isMember ??= isEqual;
      }
      return isMember;
    },
  );
}

/** With `integer`, a text that is no integer can be no member, and a number that is none makes the list mistyped. */
function isListOfScalars(claim: unknown, integer: boolean): claim is readonly unknown[] {
  if (!Array.isArray(claim)) return false;
  return claim.every((each) => isScalar(each) && !(integer && isExactNumber(each) && exactInteger(each) === undefined));
}

function containing(document: OperandDocument, context: Context): Predicate {
  const mistyped = acceptsMistyped(context.reading);
  return withClaim(
    'contains',
    document,
    // An element is compared as it is, as with a constant.
    { ...context, integer: false },
    (claim) => `an array that contains ${claim}`,
    (found, claim) => {
      if (!Array.isArray(found) || !isScalar(claim)) return undefined;
      return found.some((each) => equality(each, claim) ?? mistyped);
    },
  );
}

/** The value is a path that is equal to a prefix or below it, by whole segments. */
function within(document: Wanted['within'], { path, faults, reading }: Context): Predicate {
  const list = typeof document === 'string' || isOperand(document) ? undefined : document;
  const parts = (list ?? [document as string | OperandDocument]).map((part, index) => {
    const at = list === undefined ? path : [...path, index];
    if (isOperand(part)) return compileOperand(part, at, faults);
    const flaw = pathPrefixFlaw(part, index);
    if (flaw !== undefined) faults.push({ path: at, message: `${describeValue(part)} ${flaw}` });
    return withoutEnd(part);
  });
  const mistyped = acceptsMistyped(reading);
  const absent = reading === 'cautious';
  const isUsable = (value: unknown): value is string =>
    (list === undefined ? valueFlaw(value) : segmentFlaw(value)) === undefined && value !== '/';
  const read = (part: string | ClaimOperand, claim: (operand: ClaimOperand) => unknown): string | undefined => {
    if (typeof part === 'string') return part;
    const value = claim(part);
    return isUsable(value) ? withoutEnd(value) : undefined;
  };
  const holds = (found: unknown, claim: (operand: ClaimOperand) => unknown): boolean => {
    let isBelow = typeof found === 'string';
    let at = 0;
    for (const [index, part] of parts.entries()) {
      const text = read(part, claim);
      // Checked for each, whatever the value is: a claim that is mistyped is no evidence.
      if (text === undefined) return mistyped;
      if (!isBelow) continue;
      const expected = index === 0 ? text : `/${text}`;
      isBelow = (found as string).startsWith(expected, at);
      at += expected.length;
    }
    if (found === undefined) return absent;
    if (valueFlaw(found) !== undefined) return mistyped;
    return isBelow && (at === (found as string).length || (found as string)[at] === '/');
  };
  const claims = parts.filter((part) => typeof part !== 'string');
  const inWords = (claim: (operand: ClaimOperand) => string): string => {
    const prefix = parts.map((part) => (typeof part === 'string' ? part : `{${claim(part)}}`)).join('/');
    return `a path within ${prefix === '' ? '/' : prefix}${otherTypes(reading)}`;
  };
  return {
    operand: {
      kind: 'claims',
      relation: 'within',
      claims,
      parts: parts.map((part) => (typeof part === 'string' ? part : undefined)),
      integer: false,
      isUsable,
      holds: (found, values) => holds(found, (operand) => values[claims.indexOf(operand)]),
    },
    wanted: inWords(operandInWords),
    wantedOf: (caller, show) => inWords((claim) => shown(claim, caller, show)),
    test: (found, caller) => holds(found, ({ valueFor }) => caller && valueFor(caller)),
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
  if (/\$\{[\w.:-]+\}/.test(source))
    return '; a pattern cannot name a claim: compare with { claim: NAME }, and paths with within';
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
    wantedOf: (caller, show) => `not ${wantedBy(excluded, { caller, show })}`,
    test: (found, caller, exact) => !excluded.every(({ test }) => test(found, caller, exact)),
  };
}
