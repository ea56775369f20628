import { memoized } from '../../core/lib/remembered.ts';
import {
  distinguishedTexts,
  integerAutomaton,
  listedAutomaton,
  type TextAutomaton,
  Undecidable,
} from './text-automaton.ts';
import { patternAutomaton } from './pattern-automaton.ts';
import { maxMatchedLength, type Operand, type Predicate } from '../../core/policy/predicate.ts';
import { flawSource } from '../../core/policy/within.ts';
import type { Variable, Variables } from './formula.ts';

/** A JSON value that stands for all values that some predicates cannot tell from it. */
export interface Candidate {
  /** Undefined: there is none. */
  readonly value: unknown;
  /**
   * Patterns of which is assumed whether they match: no automaton decides them. Such a candidate may stand for no value
   * at all, so that it can refute nothing.
   */
  readonly assumed: ReadonlyMap<string, boolean> | undefined;
}

/** The values that some predicates can tell apart, simplest first. */
interface Candidates {
  readonly candidates: readonly Candidate[];
  /** Patterns that no automaton decides, each with the reason. */
  readonly undecided: ReadonlyMap<string, string>;
}

/** A predicate that no policy writes: holds for the texts that match. @param source A regular expression. */
export function matching(source: string): Predicate {
  const expression = new RegExp(source, 'u');
  return predicate({ kind: 'pattern', source }, (value) => typeof value === 'string' && expression.test(value));
}

/** A predicate that no policy writes. */
export function predicate(operand: Operand, test: Predicate['test']): Predicate {
  return { wanted: '', operand, test };
}

/** The predicates that a predicate consists of, without `not`. */
export function leavesOf(predicate: Predicate): readonly Predicate[] {
  return predicate.operand.kind === 'not' ? predicate.operand.excluded.flatMap(leavesOf) : [predicate];
}

/** Whether a predicate without `not` holds for a candidate. */
export function holdsFor({ operand, test }: Predicate, { value, assumed }: Candidate): boolean {
  const given = operand.kind === 'pattern' ? assumed?.get(operand.source) : undefined;
  return given ?? test(value);
}

/**
 * A candidate for every class of values that predicates can tell apart: no value, texts, numbers, truth values, null,
 * an array and an object. The contents of the last two are variables of their own (`space.ts`).
 */
export function candidatesFor(leaves: readonly Predicate[]): Candidates {
  const operands = leaves.map(({ operand }) => operand);
  const points = operands.flatMap(pointsOf);
  const numbers = points.length === 0 && !operands.some(isNumeric) ? [1] : representativeNumbers(points);
  const { texts, undecided } = candidateTexts({
    listed: unique(operands.flatMap(textsOf)),
    patterns: unique(operands.flatMap(sourcesOf)),
    integers: operands.some(readsIntegers) ? numbers.filter(Number.isSafeInteger) : undefined,
  });
  const decided = [undefined, ...texts, ...numbers, true, false, null, [], {}];
  const candidates: Candidate[] = decided.map((value) => ({ value, assumed: undefined }));
  for (const assumed of assumptions([...undecided.keys()])) {
    for (const value of texts) candidates.push({ value, assumed });
  }
  return { candidates, undecided };
}

/** The limit on undecided patterns at one place, of which each combination is assumed. */
const MAX_COMBINED = 6;

function assumptions(patterns: readonly string[]): readonly ReadonlyMap<string, boolean>[] {
  if (patterns.length === 0) return [];
  if (patterns.length > MAX_COMBINED) throw new Undecidable(`${patterns.length} patterns that no automaton decides`);
  return Array.from(
    { length: 2 ** patterns.length },
    (_, bits) => new Map(patterns.map((source, index) => [source, ((bits >> index) & 1) === 1])),
  );
}

/** A constant prefix tells apart the paths below it, all others, and texts that are no sound paths. */
function sourcesOf(operand: Operand): readonly string[] {
  if (operand.kind === 'pattern') return [operand.source];
  if (operand.kind !== 'claims' || operand.relation !== 'within') return [];
  return [flawSource, belowSource(operand.parts.join('/'))];
}

/** Whether a predicate is on a value alone, and not on claims that it is compared with. */
export function isUnary({ operand }: Predicate): boolean {
  return operand.kind !== 'claims' || operand.claims.length === 0;
}

function pointsOf(operand: Operand): readonly number[] {
  if (operand.kind === 'bound') return around(operand.bound, operand.integer);
  return operand.kind === 'scalars' ? operand.scalars.filter((each) => typeof each === 'number') : [];
}

/** An integer is compared with a bound between two: those tell integers apart. */
function around(bound: number, integer: boolean): readonly number[] {
  return integer ? [Math.floor(bound), bound, Math.ceil(bound)] : [bound];
}

function textsOf(operand: Operand): readonly string[] {
  return operand.kind === 'scalars' ? operand.scalars.filter((each) => typeof each === 'string') : [];
}

function isNumeric({ kind }: Operand): boolean {
  return kind === 'integer' || kind === 'bound';
}

function readsIntegers(operand: Operand): boolean {
  if (operand.kind === 'integer') return true;
  return (operand.kind === 'bound' || operand.kind === 'scalars') && operand.integer;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

interface TextMarks {
  readonly listed: readonly string[];
  /** Sources of regular expressions. */
  readonly patterns: readonly string[];
  /** Integers that other integers are compared with; undefined where texts are not read as numbers. */
  readonly integers: readonly number[] | undefined;
}

interface CandidateTexts {
  readonly texts: readonly string[];
  /**
   * The patterns that could not be decided, each with the reason. Nothing is known of them: each text may stand for
   * texts that such a pattern matches, and for others.
   */
  readonly undecided: ReadonlyMap<string, string>;
}

/** Texts for every set of texts that marks can tell apart, those that read best first. */
const candidateTexts = memoized(withPatterns, ({ listed, patterns, integers }: TextMarks) =>
  JSON.stringify([listed, patterns, integers]),
);

function withPatterns({ listed, patterns, integers }: TextMarks): CandidateTexts {
  const plain = [...unlisted(listed), ...listed, ...(integers ?? []).map((number) => spelled(number, listed))];
  if (patterns.length === 0) return { texts: plain, undecided: new Map() };
  const undecided = new Map<string, string>();
  const automata: TextAutomaton[] = patterns.flatMap((source) => {
    try {
      return [patternAutomaton(source)];
    } catch (error) {
      if (!(error instanceof Undecidable)) throw error;
      undecided.set(source, error.message);
      return [];
    }
  });
  automata.push(listedAutomaton(listed));
  if (integers !== undefined) automata.push(integerAutomaton(integers));
  try {
    const texts = distinguishedTexts(automata).filter(({ length }) => length <= maxMatchedLength);
    return { texts: [...plain, ...texts], undecided };
  } catch (error) {
    if (!(error instanceof Undecidable)) throw error;
    return { texts: plain, undecided: new Map(patterns.map((source) => [source, error.message])) };
  }
}

/** Beyond 2^53 a text is no integer for a predicate, and below it is one: both are among the points. */
function spelled(integer: number, listed: readonly string[]): string {
  const digits = String(Math.abs(integer));
  let text = digits;
  const sign = integer < 0 ? '-' : '';
  while (listed.includes(sign + text)) text = `0${text}`;
  return sign + text;
}

/** A text that is not listed, which says of itself that it is any. */
function unlisted(listed: readonly string[]): readonly string[] {
  let text = 'x';
  while (listed.includes(text)) text += 'x';
  return [text];
}

/** An element that an array may contain. */
export interface PossibleElement {
  readonly value: unknown;
  /** Class 0: the array does not contain it. */
  readonly variable: Variable;
}

/**
 * The elements that predicates on arrays can tell apart, each with a variable of its own: an array may have any of
 * them together. `contains` holds as soon as it holds for one element, so that arrays of one element say it all.
 */
export function elementsOf(containing: readonly Predicate[], variables: Variables): readonly PossibleElement[] {
  if (containing.length === 0) return [];
  const listed = containing.flatMap(({ operand }) => (operand.kind === 'element' ? [operand.element] : []));
  const told = new Map<string, unknown>();
  for (const value of [...listed, ...unlistedScalars(listed)]) {
    const holding = containing.map(({ test }) => test([value]));
    const key = holding.join(' ');
    if (holding.includes(true) && !told.has(key)) told.set(key, value);
  }
  return [...told.values()].map((value) => ({ value, variable: variables.add(2) }));
}

/** A value of each type that is not listed. There are no more than two truth values. */
function unlistedScalars(listed: readonly unknown[]): readonly unknown[] {
  let text = 'x';
  while (listed.includes(text)) text += 'x';
  let number = 1;
  while (listed.includes(number)) number += 1;
  return [text, number, true, false, null];
}

/**
 * Numbers for every range of doubles that predicates with these bounds and values can tell apart: each point itself,
 * and between two of them an integer and a number that is none, where there is one. Simplest first.
 *
 * Beyond 2^53 no number counts as an integer, because the gateway cannot tell it from its neighbours.
 */
export const representativeNumbers = memoized(numbersAround, (points) => points.join(' '));

function numbersAround(points: readonly number[]): readonly number[] {
  const sorted = [...new Set([...points, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])].toSorted((a, b) => a - b);
  const ends = [Number.NEGATIVE_INFINITY, ...sorted, Number.POSITIVE_INFINITY];
  const between = ends.slice(1).flatMap((high, index) => inside(ends[index] ?? 0, high));
  // Too large for a double: JSON can write it, and no predicate takes it for a number.
  const found = new Set([...sorted, ...between, Number.POSITIVE_INFINITY]);
  return [...found].toSorted((one, other) => complexity(one) - complexity(other) || other - one);
}

/** Numbers strictly between two others: one that is an integer and one that is none. */
function inside(low: number, high: number): readonly number[] {
  const candidates = [0, 1, -1, 10, 100, 1000, Math.floor(low) + 1, Math.ceil(high) - 1, 0.5, -0.5, 1e300, -1e300];
  const halves = [low + 0.5, high - 0.5, (low + high) / 2];
  const above = nextUp(low);
  const below = -nextUp(-high);
  const neighbours = [above, nextUp(above), below, -nextUp(-below)];
  const fitting = [...candidates, ...halves, ...neighbours].filter((each) => each > low && each < high);
  const simplest = (wanted: (each: number) => boolean): readonly number[] =>
    fitting
      .filter(wanted)
      .toSorted((one, other) => complexity(one) - complexity(other))
      .slice(0, 1);
  return [...simplest(Number.isSafeInteger), ...simplest((each) => !Number.isSafeInteger(each))];
}

/** The length of a number as it is written: what a reader finds simple. */
function complexity(number: number): number {
  return String(number).length + (Number.isFinite(number) ? 0 : 100);
}

const bits = new DataView(new ArrayBuffer(8));

function nextUp(number: number): number {
  if (number === Number.POSITIVE_INFINITY) return number;
  if (number === Number.NEGATIVE_INFINITY) return -Number.MAX_VALUE;
  if (number === 0) return Number.MIN_VALUE;
  bits.setFloat64(0, number);
  bits.setBigInt64(0, bits.getBigInt64(0) + (number > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

/** The paths equal to a constant or below it, as a regular expression; of those without a flaw. */
export function belowSource(constant: string): string {
  return `^${constant.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}(?:/|$)`;
}
