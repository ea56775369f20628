import type { PredicateDocument, Scalar, ValueDocument } from './document.ts';
import type { DocumentPath, PolicyFault } from './policy-error.ts';
import { shown } from './shown.ts';

/** One question to one JSON value. Missing values are `undefined`. */
export interface Predicate {
  /** What holds, as in `wanted …, found …`. */
  readonly wanted: string;
  /** @throws {RangeError} for a value that cannot be tested; a denial then, also under `not`. */
  readonly test: (value: unknown) => boolean;
}

/** Longest string that `matches` tests, in UTF-16 code units: an upper bound on what a slow expression can cost. */
export const maxMatchedLength = 4096;

/** How many values of a list are named in a denial. */
const maxListed = 8;

/**
 * Compiles what is asked of one value; all predicates returned must hold. Values are never coerced: number 1 is not
 * `"1"`, and only finite numbers are below or above one. Appends to `faults` what cannot be compiled.
 */
export function compilePredicates(value: ValueDocument, path: DocumentPath, faults: PolicyFault[]): Predicate[] {
  return compile(value, path, faults, false);
}

function compile(value: ValueDocument, path: DocumentPath, faults: PolicyFault[], inherited: boolean): Predicate[] {
  const mapping = asMapping(value);
  // Inherited by `not`: whoever writes `{ integer: true, not: 5 }` means the claim "5" too.
  const integer = inherited || mapping.integer === true;
  // Shorthands have no member of their own to point at.
  const at = (name: string): DocumentPath => (mapping === value ? [...path, name] : path);
  const predicates: Predicate[] = [];
  if (mapping.integer === true)
    predicates.push({ wanted: 'an integer', test: (found) => parseInteger(found) !== undefined });
  if (mapping.equals !== undefined) predicates.push(oneOf([mapping.equals], at('equals'), faults, integer));
  if (mapping.one_of !== undefined) predicates.push(oneOf(mapping.one_of, at('one_of'), faults, integer));
  if (mapping.contains !== undefined) predicates.push(contains(mapping.contains, at('contains'), faults));
  predicates.push(...comparisons(mapping, path, faults, integer));
  if (mapping.matches !== undefined) predicates.push(...matches(mapping.matches, at('matches'), faults));
  if (mapping.present !== undefined) predicates.push(present(mapping.present));
  if (mapping.not !== undefined) predicates.push(not(compile(mapping.not, at('not'), faults, integer)));
  return predicates;
}

function asMapping(value: ValueDocument): PredicateDocument {
  if (isList(value)) return { one_of: value };
  return typeof value === 'object' ? value : { equals: value };
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(value: ValueDocument): value is readonly Scalar[] {
  return Array.isArray(value);
}

/** A JSON integer, or a string that is one: an optional `-` and decimal digits. Beyond 2^53 both are rounded: not one. */
function parseInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

function oneOf(values: readonly Scalar[], path: DocumentPath, faults: PolicyFault[], integer: boolean): Predicate {
  for (const value of values) checkComparable(value, path, faults);
  const accepted: ReadonlySet<unknown> = new Set(values);
  const names = values.slice(0, maxListed).map(shown).join(', ') + (values.length > maxListed ? ', …' : '');
  return {
    wanted: values.length === 1 ? names : `one of ${names}`,
    // An array or object is not in the set even when it holds the same: `contains` asks for elements.
    test: integer
      ? (found) => accepted.has(found) || accepted.has(parseInteger(found))
      : (found) => accepted.has(found),
  };
}

function contains(element: Scalar, path: DocumentPath, faults: PolicyFault[]): Predicate {
  checkComparable(element, path, faults);
  // Not in a string either, be it separated by spaces: "trader" is also in "no-trader x" for whoever splits carelessly.
  return {
    wanted: `an array that contains ${shown(element)}`,
    test: (found) => Array.isArray(found) && found.includes(element),
  };
}

/** Refuses a number that a token could not carry, or that other numbers in a token would be rounded to. */
function checkComparable(value: Scalar, path: DocumentPath, faults: PolicyFault[]): void {
  if (typeof value !== 'number') return;
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return;
  faults.push({
    path,
    message: `${value} cannot be compared exactly; numbers up to 2^53 - 1 can, longer identifiers as strings`,
  });
}

const relations = {
  below: { words: 'below', holds: (found: number, bound: number) => found < bound },
  at_most: { words: 'of at most', holds: (found: number, bound: number) => found <= bound },
  above: { words: 'above', holds: (found: number, bound: number) => found > bound },
  at_least: { words: 'of at least', holds: (found: number, bound: number) => found >= bound },
} as const;

function comparisons(
  mapping: PredicateDocument,
  path: DocumentPath,
  faults: PolicyFault[],
  integer: boolean,
): Predicate[] {
  const predicates: Predicate[] = [];
  for (const name of ['below', 'at_most', 'above', 'at_least'] as const) {
    const bound = mapping[name];
    if (bound === undefined) continue;
    if (!Number.isFinite(bound)) faults.push({ path: [...path, name], message: `${bound} is not a finite number` });
    const { words, holds } = relations[name];
    const number = integer ? parseInteger : finite;
    predicates.push({
      wanted: `${integer ? 'an integer' : 'a number'} ${words} ${bound}`,
      test(value) {
        const found = number(value);
        return found !== undefined && holds(found, bound);
      },
    });
  }
  return predicates;
}

/** JSON.parse reads 1e999 as Infinity. */
function finite(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function matches(source: string, path: DocumentPath, faults: PolicyFault[]): Predicate[] {
  let expression: RegExp;
  try {
    // Not `v`: it refuses `[a-z-]`, which everybody writes. Neither `g` nor `y`: the expression must keep no state.
    expression = new RegExp(source, 'u');
  } catch (error) {
    // V8 repeats the whole source, line breaks and all, before what is wrong with it.
    const why = (error as SyntaxError).message.replace(/[^]*: /, '');
    faults.push({ path, message: `${shown(source)} is not a JavaScript regular expression with the u flag: ${why}` });
    return [];
  }
  return [
    {
      wanted: `a string that matches ${shown(source)}`,
      test(value) {
        if (typeof value !== 'string') return false;
        // Not false: under `not` a caller could pass by making a claim of theirs long enough.
        if (value.length > maxMatchedLength) {
          throw new RangeError(`matches tests ${maxMatchedLength} characters, found ${value.length}`);
        }
        return expression.test(value);
      },
    },
  ];
}

/** Null is what some servers send for a claim that they have no value for: absent. */
function present(wanted: boolean): Predicate {
  return {
    wanted: wanted ? 'a value' : 'no value',
    test: (found) => (found !== undefined && found !== null) === wanted,
  };
}

function not(excluded: readonly Predicate[]): Predicate {
  return {
    wanted: `not ${excluded.map(({ wanted }) => wanted).join(' and ')}`,
    test: (found) => !excluded.every(({ test }) => test(found)),
  };
}
