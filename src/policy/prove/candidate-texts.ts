import { maxMatchedLength } from '../predicate.ts';
import { integerAutomaton } from '../patterns/integer-automaton.ts';
import { listedAutomaton } from '../patterns/listed-automaton.ts';
import { patternAutomaton } from '../patterns/pattern-automaton.ts';
import type { TextAutomaton } from '../patterns/text-automaton.ts';
import { distinguishedTexts } from '../patterns/texts.ts';
import { Undecidable } from '../patterns/undecidable.ts';

/** What tells texts apart. */
export interface TextMarks {
  readonly listed: readonly string[];
  /** Sources of regular expressions. */
  readonly patterns: readonly string[];
  /** Integers that other integers are compared with; undefined where texts are not read as numbers. */
  readonly integers: readonly number[] | undefined;
}

/** Texts for every set of texts that some marks can tell apart. */
export interface CandidateTexts {
  readonly texts: readonly string[];
  /**
   * The patterns that could not be decided, each with the reason. Nothing is known of them: each text may stand for
   * texts that such a pattern matches, and for others.
   */
  readonly undecided: ReadonlyMap<string, string>;
}

const known = new Map<string, CandidateTexts>();
/** The limit on what is remembered. */
const MAX_KNOWN = 1000;

/** Texts for every set of texts that `marks` can tell apart, those that read best first. */
export function candidateTexts(marks: TextMarks): CandidateTexts {
  const key = JSON.stringify([marks.listed, marks.patterns, marks.integers]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = withPatterns(marks);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

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
