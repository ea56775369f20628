import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { type CharSet, JS } from 'refa';
import { memoized } from '../../core/lib/remembered.ts';
import { numbered, type TextAutomaton, type TextMachine, Undecidable } from './text-automaton.ts';

/** A place of a pattern. All ways from it can be taken; `accepts` takes a character. */
interface PatternNode {
  readonly id: number;
  readonly accepts: CharSet | undefined;
  /** Where in the text the place can be passed. */
  readonly only: 'start' | 'end' | undefined;
  readonly next: PatternNode[];
}

/** The places that a search may be at; `matched` as soon as some way has come to the end of the pattern. */
interface Search {
  readonly places: readonly PatternNode[];
  readonly isStart: boolean;
  readonly matched: boolean;
}

/** The limit on places: a pattern with more is not decided. */
const MAX_PLACES = 5000;
const flags: JS.Flags = { unicode: true };

/**
 * The automaton of a regular expression with the `u` flag that is searched for in a text, as `matches` does.
 *
 * @throws {Undecidable} for look-around, back-references, word boundaries and modifiers.
 */
export const patternAutomaton: (source: string) => TextAutomaton = memoized(
  (source) => numbered(patternMachine(source)),
  (source) => source,
);

function patternMachine(source: string): TextMachine<Search> {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, { unicode: true });
  const alphabet: CharSet[] = [];
  let count = 0;
  const end = node();
  const first = alternatives(pattern.alternatives, end);

  return {
    alphabet,
    start: searchFrom([first], true),
    step({ places, matched }, character) {
      if (matched) return { places: [], isStart: false, matched };
      const reached = places.flatMap(({ accepts, next }) => (accepts?.has(character) === true ? next : []));
      return searchFrom([...reached, first], false);
    },
    key: ({ places, isStart, matched }) => (matched ? 'matched' : `${isStart} ${places.map(({ id }) => id).join(' ')}`),
    classOf: ({ places, isStart, matched }) =>
      String(matched || reach(places, { start: isStart, end: true }).includes(end)),
    // A pattern without `^` has places everywhere.
    isDead: ({ places, isStart, matched }) => !isStart && !matched && places.length === 0,
  };

  /** A search after the ways that need no character, without those that only the end of the text opens. */
  function searchFrom(from: readonly PatternNode[], isStart: boolean): Search {
    const places = reach(from, { start: isStart, end: false });
    const matched = places.includes(end);
    const waiting = places.filter(({ accepts, only }) => accepts !== undefined || only === 'end');
    return { places: matched ? [] : waiting.toSorted((one, other) => one.id - other.id), isStart, matched };
  }

  function node(accepts?: CharSet, next: PatternNode[] = [], only?: PatternNode['only']): PatternNode {
    if (++count > MAX_PLACES) throw new Undecidable(`more than ${MAX_PLACES} characters with all repetitions`);
    return { id: count, accepts, only, next };
  }

  /** Each part is built from what follows it. */
  function alternatives(each: readonly AST.Alternative[], next: PatternNode): PatternNode {
    const starts = each.map(({ elements }) => elements.reduceRight((rest, element) => part(element, rest), next));
    return starts.length === 1 && starts[0] !== undefined ? starts[0] : node(undefined, starts);
  }

  function part(element: AST.Element, next: PatternNode): PatternNode {
    switch (element.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass': {
        const accepts = JS.parseCharSet(element as AST.Character, flags);
        alphabet.push(accepts);
        return node(accepts, [next]);
      }
      case 'Group':
        if (element.modifiers !== null) throw new Undecidable(`the modifiers of ${element.raw}`);
        return alternatives(element.alternatives, next);
      case 'CapturingGroup':
        return alternatives(element.alternatives, next);
      case 'Quantifier':
        return repeated(element, next);
      case 'Assertion':
        if (element.kind === 'start' || element.kind === 'end') return node(undefined, [next], element.kind);
        throw new Undecidable(`the ${element.kind === 'word' ? 'word boundary' : 'look-around'} ${element.raw}`);
      case 'Backreference':
        throw new Undecidable(`the back-reference ${element.raw}`);
      case 'ExpressionCharacterClass':
        throw new Undecidable(`the set ${element.raw}`);
    }
  }

  function repeated({ element, min, max }: AST.Quantifier, next: PatternNode): PatternNode {
    let rest = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = node(undefined, [next]);
      loop.next.push(part(element, loop));
      rest = loop;
    } else {
      for (let left = max - min; left > 0; left -= 1) rest = node(undefined, [next, part(element, rest)]);
    }
    for (let left = min; left > 0; left -= 1) {
      const longer = part(element, rest);
      // A group of nothing: to repeat it two billion times would take long, and change nothing.
      if (longer === rest) break;
      rest = longer;
    }
    return rest;
  }
}

/** All places that can be reached without a character. */
function reach(from: readonly PatternNode[], open: Readonly<Record<'start' | 'end', boolean>>): readonly PatternNode[] {
  const reached = new Set(from);
  for (const { accepts, only, next } of reached) {
    if (accepts !== undefined || (only !== undefined && !open[only])) continue;
    for (const each of next) reached.add(each);
  }
  return [...reached];
}
