import type { Operand, Predicate } from '../predicate.ts';
import { candidateTexts } from './candidate-texts.ts';
import { representativeNumbers } from './numbers.ts';
import { Undecidable } from '../patterns/undecidable.ts';

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
export interface Candidates {
  readonly candidates: readonly Candidate[];
  /** Patterns that no automaton decides, each with the reason. */
  readonly undecided: ReadonlyMap<string, string>;
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
 * an array and an object. The contents of the last two are variables of their own (`place.ts`).
 */
export function candidatesFor(leaves: readonly Predicate[]): Candidates {
  const operands = leaves.map(({ operand }) => operand);
  const points = operands.flatMap(pointsOf);
  const numbers = points.length === 0 && !operands.some(isNumeric) ? [1] : representativeNumbers(points);
  const { texts, undecided } = candidateTexts({
    listed: unique(operands.flatMap(textsOf)),
    patterns: unique(operands.flatMap((operand) => (operand.kind === 'pattern' ? [operand.source] : []))),
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

/** Each combination of patterns that match. */
function assumptions(patterns: readonly string[]): readonly ReadonlyMap<string, boolean>[] {
  if (patterns.length === 0) return [];
  if (patterns.length > MAX_COMBINED) throw new Undecidable(`${patterns.length} patterns that no automaton decides`);
  return Array.from(
    { length: 2 ** patterns.length },
    (_, bits) => new Map(patterns.map((source, index) => [source, ((bits >> index) & 1) === 1])),
  );
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
