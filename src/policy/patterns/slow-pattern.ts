import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { CharBase } from 'refa';
import { type PositionAutomaton, positionAutomaton, UnsupportedPattern } from './position-automaton.ts';

/**
 * The limit on tests of the engine for each character of a text, backtracking included. The 4,096 characters that
 * `matches` reads then take at most a million tests: about 3 ms.
 */
export const maxTestsPerCharacter = 256;

/** The part of a pattern that makes matching slower than linear on some text, or for which no bound is known. */
export interface SlowPart {
  /** Where it begins in the pattern, counted from 1 in UTF-16 code units. */
  readonly character: number;
  readonly text: string;
  /** What is wrong with it and what to write instead, as in `from character 3, "a+" …`. */
  readonly why: string;
}

/** Transitions that are followed before a pattern counts as too complex: about 0.1 s. */
const BUDGET = 200_000;

const ambiguous =
  'can match the same text in several ways, and the engine tries all of them: write it so that the next character ' +
  'decides how it goes on, or list the values with `one_of`';
const searched =
  'is tried anew from each character of the text: begin the pattern with `^`, or list the values with `one_of`';
const unsupported = 'and no bound is known for its time: write it without, or list the values with `one_of`';

/**
 * Finds out whether V8's backtracking engine takes linear time for a pattern with the `u` flag, on every text. It
 * follows all walks through the pattern that the engine may take and counts those that are under way together; in a
 * slow pattern, be it quadratic or exponential, that number has no bound. No slow pattern is overlooked, since a test
 * counts even if the engine would have stopped before it. A pattern that V8 refuses is not slow.
 *
 * @returns undefined for a pattern that has the engine test at most {@link maxTestsPerCharacter} for each character.
 */
export function slowPart(source: string): SlowPart | undefined {
  try {
    const pattern = parsed(source);
    if (pattern === undefined) return undefined;
    const automaton = positionAutomaton(pattern);
    const part = crowdedPart(pattern, automaton, false);
    if (part !== undefined) return blamed(part, ambiguous);
    const start = automaton.isAnchored ? undefined : crowdedPart(pattern, automaton, true);
    return start && blamed(start, searched);
  } catch (error) {
    if (error instanceof UnsupportedPattern) return blamed(error.part, `${error.message}, ${unsupported}`);
    throw error;
  }
}

function parsed(source: string): AST.Pattern | undefined {
  try {
    // As `matches` compiles it, which reports an error of syntax.
    RegExp(source, 'u');
  } catch {
    return undefined;
  }
  return new RegExpParser().parsePattern(source, 0, source.length, { unicode: true });
}

function blamed({ start, raw }: AST.Node, why: string): SlowPart {
  return { character: start + 1, text: raw, why };
}

/** What the engine may be doing after some beginning of a text. */
interface State {
  /** The number of its walks that are at a place, by the place. */
  readonly walks: ReadonlyMap<number, number>;
  /** The first moves of the walks that may begin here; undefined where none may. */
  readonly begins: Moves | undefined;
}

type Moves = readonly (readonly (readonly [place: number, ways: number])[])[];

/**
 * The part where too many walks come together on some text; undefined where there is none.
 *
 * @param everywhere Whether walks begin at each character of the text, or at the first alone.
 * @throws {UnsupportedPattern} where there are too many states to look at.
 */
function crowdedPart(pattern: AST.Pattern, automaton: PositionAutomaton, everywhere: boolean): AST.Node | undefined {
  const { places, first, further, empty, isMetByNothing } = automaton;
  // Characters that the pattern does not tell apart: one of each is enough.
  const alphabet = new CharBase(places.map(({ accepts }) => accepts));
  const accepted = places.map(({ accepts }) => alphabet.split(accepts));
  const movesTo = (next: ReadonlyMap<number, number>): Moves => {
    const moves: [number, number][][] = alphabet.sets.map(() => []);
    for (const [place, ways] of next) for (const each of accepted[place] ?? []) moves[each]?.push([place, ways]);
    return moves;
  };
  const furtherMoves = movesTo(further);
  const onward = places.map(({ next }) => movesTo(next));
  const testsToBegin = empty + sum(first);
  const tests = places.map(({ next, exits }) => 1 + exits + sum(next));
  const blame = (walks: ReadonlyMap<number, number>): AST.Node => {
    const [place] = [...walks].reduce((most, each) => (each[1] > most[1] ? each : most), [-1, 0]);
    return places[place]?.part ?? pattern;
  };
  if (testsToBegin > maxTestsPerCharacter) return blame(first);

  const open: State[] = [{ walks: new Map(), begins: movesTo(first) }];
  const visited = new Set<string>();
  let budget = BUDGET;
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const character of alphabet.sets.keys()) {
      const walks = after(state, character);
      if (walks.size === 0) continue;
      // None begins behind a place where the pattern is met: the engine ends there at the latest.
      const isMet = isMetByNothing || [...walks.keys()].some((place) => places[place]?.isFinal);
      const begins = everywhere && state.begins !== undefined && !isMet ? furtherMoves : undefined;
      let total = begins === undefined ? 0 : testsToBegin;
      for (const [place, count] of walks) total += count * (tests[place] ?? 0);
      if (total > maxTestsPerCharacter) return blame(walks);
      const key = `${begins !== undefined} ${[...walks].toSorted(([one], [other]) => one - other).join(' ')}`;
      if (visited.has(key)) continue;
      visited.add(key);
      open.push({ walks, begins });
      if (budget < 0) throw new UnsupportedPattern('has too many ways through it', blame(walks));
    }
  }
  return undefined;

  function after({ walks, begins }: State, character: number): Map<number, number> {
    const next = new Map<number, number>();
    const follow = (moves: Moves | undefined, count: number): void => {
      const reached = moves?.[character] ?? [];
      budget -= 1 + reached.length;
      for (const [place, ways] of reached) next.set(place, (next.get(place) ?? 0) + count * ways);
    };
    follow(begins, 1);
    for (const [place, count] of walks) follow(onward[place], count);
    return next;
  }
}

function sum(ways: ReadonlyMap<number, number>): number {
  return [...ways.values()].reduce((total, each) => total + each, 0);
}
