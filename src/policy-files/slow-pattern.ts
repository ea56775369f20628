import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { CharBase, type CharSet, JS } from 'refa';

/** A place of a pattern that consumes a character. A place that a quantifier repeats stands for each repetition. */
interface PatternPosition {
  readonly accepts: CharSet;
  /** What to show to the author: the innermost quantifier around it, else the place itself. */
  readonly part: AST.Node;
  /** The places that may come next, each with the number of ways to get there without a character. */
  readonly next: Map<number, number>;
  /** The ways to the end of the pattern, or of the lookahead that it is in. */
  exits: number;
  /** Whether the whole pattern is met once this place is, whatever follows in the text. */
  isFinal: boolean;
}

/**
 * A pattern as the places that a backtracking engine can be at (Glushkov's automaton, with multiplicities): each walk
 * through it that spells the beginning of a text is one that the engine may try.
 */
interface PositionAutomaton {
  readonly places: readonly PatternPosition[];
  /** Where a match may begin, each with the number of ways to get there. */
  readonly first: ReadonlyMap<number, number>;
  /** Those of them where one may begin behind the beginning of the text. */
  readonly further: ReadonlyMap<number, number>;
  /** Whether a match can begin only where the text does, so that the engine tries it once. */
  readonly isAnchored: boolean;
  /** The ways to the end without a character. */
  readonly empty: number;
  /** Whether one of them rests on no assertion: then the pattern is met by any text. */
  readonly isMetByNothing: boolean;
}

/** Why a pattern has no such automaton, said of `part`. */
class UnsupportedPattern extends Error {
  override readonly name = 'UnsupportedPattern';
  readonly part: AST.Node;

  constructor(why: string, part: AST.Node) {
    super(why);
    this.part = part;
  }
}

/** The limit on places. A pattern with more would take long to examine and to match. */
const MAX_PLACES = 5000;
const flags: JS.Flags = { unicode: true };

/** A part of a pattern. Each is used once, so that those around it may grow its maps. */
interface Fragment {
  /** The ways to be met by nothing. */
  readonly empty: number;
  /** Whether one of them rests on no assertion. */
  readonly isFree: boolean;
  readonly first: Map<number, number>;
  /** Where it may end, each with the ways to leave it from there. */
  readonly last: Map<number, number>;
  /** Where it may end, if none of the ways there rests on an assertion. */
  readonly freeLast: Set<number>;
  /** Whether it has an assertion anywhere. */
  readonly asserts: boolean;
}

/**
 * Builds the automaton of a pattern.
 *
 * @throws {UnsupportedPattern} for a pattern that has none, or more than {@link MAX_PLACES} places.
 */
function positionAutomaton({ alternatives }: AST.Pattern): PositionAutomaton {
  const places: PatternPosition[] = [];
  const parts = alternatives.map((each) => ofAlternatives([each], undefined));
  const further = new Map(parts.flatMap((each, i) => (beginsAtStart(alternatives[i]) ? [] : [...each.first])));
  const { first, last, freeLast, empty, isFree } = parts.reduce(either);
  exit(last);
  for (const place of freeLast) if (places[place] !== undefined) places[place].isFinal = true;
  return { places, first, further, isAnchored: alternatives.every(beginsAtStart), empty, isMetByNothing: isFree };

  function ofAlternatives(parts: readonly AST.Alternative[], repeated: AST.Node | undefined): Fragment {
    return parts
      .map(({ elements }) => sequence(elements.map((each) => () => ofElement(each, repeated))))
      .reduce(either);
  }

  function ofElement(element: AST.Element, repeated: AST.Node | undefined): Fragment {
    switch (element.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return place(JS.parseCharSet(element as AST.Character, flags), repeated ?? element);
      case 'Group':
        if (element.modifiers !== null) throw new UnsupportedPattern('changes the flags', element);
        return ofAlternatives(element.alternatives, repeated);
      case 'CapturingGroup':
        return ofAlternatives(element.alternatives, repeated);
      case 'Quantifier':
        return ofQuantifier(element);
      case 'Assertion':
        return ofAssertion(element, repeated);
      case 'Backreference':
        throw new UnsupportedPattern('is a backreference', element);
      case 'ExpressionCharacterClass':
        throw new UnsupportedPattern('needs the v flag', element);
    }
  }

  function place(accepts: CharSet, part: AST.Node): Fragment {
    if (places.length >= MAX_PLACES)
      throw new UnsupportedPattern(`stands, with all repetitions, for more than ${MAX_PLACES} characters`, part);
    const own = places.push({ accepts, part, next: new Map(), exits: 0, isFinal: false }) - 1;
    const [first, last] = [new Map([[own, 1]]), new Map([[own, 1]])];
    return { empty: 0, isFree: false, first, last, freeLast: new Set([own]), asserts: false };
  }

  /** ECMAScript tries an iteration that consumes nothing, but goes on from it only until `min` is reached. */
  function ofQuantifier(quantifier: AST.Quantifier): Fragment {
    const { min, max } = quantifier;
    const copy = (): Fragment => ofElement(quantifier.element, quantifier);
    let required = nothing(1, true);
    for (let count = 0; count < min; count += 1) {
      const before = places.length;
      required = inOrder(required, copy());
      // An assertion or an empty group: to repeat it a million times would change nothing, and take long.
      if (places.length === before) return nothing(required.empty ** min, required.isFree);
    }
    if (max === min) return required;
    return inOrder(required, max === Number.POSITIVE_INFINITY ? loop(copy()) : optional(copy, max - min));
  }

  function loop(body: Fragment): Fragment {
    connect(body.last, body.first);
    const last = new Map([...body.last].map(([place, ways]) => [place, ways * (1 + body.empty)]));
    // An iteration may have come through an assertion of the one before.
    const freeLast = body.asserts ? new Set<number>() : body.freeLast;
    return { ...body, last, freeLast, empty: 1 + body.empty, isFree: true };
  }

  function optional(copy: () => Fragment, count: number): Fragment {
    let rest = nothing(1, true);
    for (let left = count; left > 0; left -= 1) {
      const before = places.length;
      const one = copy();
      if (places.length === before) return nothing(1 + one.empty, true);
      rest = { ...inOrder({ ...one, empty: 0, isFree: false }, rest), empty: 1 + one.empty, isFree: true };
    }
    return rest;
  }

  function ofAssertion(assertion: AST.Assertion, repeated: AST.Node | undefined): Fragment {
    if (assertion.kind === 'lookbehind') throw new UnsupportedPattern('is a lookbehind', assertion);
    if (assertion.kind !== 'lookahead') return { ...nothing(1, false), asserts: true };
    // The engine walks through it beside what follows, and never from its end on.
    const { first, last, empty } = ofAlternatives(assertion.alternatives, repeated);
    exit(last);
    return { ...nothing(Math.max(1, empty), false), first, asserts: true };
  }

  function exit(last: ReadonlyMap<number, number>): void {
    for (const [place, ways] of last) {
      const ended = places[place];
      if (ended !== undefined) ended.exits += ways;
    }
  }

  function sequence(parts: readonly (() => Fragment)[]): Fragment {
    return parts.reduce((before, part) => inOrder(before, part()), nothing(1, true));
  }

  function inOrder(before: Fragment, after: Fragment): Fragment {
    connect(before.last, after.first);
    const freeLast = before.asserts ? new Set<number>() : after.freeLast;
    if (after.isFree) for (const place of before.freeLast) freeLast.add(place);
    return {
      empty: before.empty * after.empty,
      isFree: before.isFree && after.isFree,
      first: added(before.first, after.first, before.empty),
      last: added(after.last, before.last, after.empty),
      freeLast,
      asserts: before.asserts || after.asserts,
    };
  }

  function connect(from: ReadonlyMap<number, number>, to: ReadonlyMap<number, number>): void {
    for (const [place, out] of from) {
      const next = places[place]?.next;
      if (next !== undefined) added(next, to, out);
    }
  }
}

function nothing(empty: number, isFree: boolean): Fragment {
  return { empty, isFree, first: new Map(), last: new Map(), freeLast: new Set(), asserts: false };
}

function either(one: Fragment, other: Fragment): Fragment {
  return {
    empty: one.empty + other.empty,
    isFree: one.isFree || other.isFree,
    first: added(one.first, other.first, 1),
    last: added(one.last, other.last, 1),
    freeLast: new Set([...one.freeLast, ...other.freeLast]),
    asserts: one.asserts || other.asserts,
  };
}

/** `to`, grown by `times` what is in `from`. */
function added(to: Map<number, number>, from: ReadonlyMap<number, number>, times: number): Map<number, number> {
  if (times > 0) for (const [place, ways] of from) to.set(place, (to.get(place) ?? 0) + ways * times);
  return to;
}

/** V8 tries such a pattern at the beginning of a text alone. */
function beginsAtStart(alternative: AST.Alternative | undefined): boolean {
  const first = alternative?.elements[0];
  if (first?.type === 'Group' || first?.type === 'CapturingGroup') return first.alternatives.every(beginsAtStart);
  return first?.type === 'Assertion' && first.kind === 'start';
}

/**
 * The limit on tests of the engine for each character of a text, backtracking included. The 4,096 characters that
 * `matches` reads then take at most a million tests: about 3 ms.
 */
export const maxTestsPerCharacter = 256;

/** The part of a pattern that makes matching slower than linear on some text, or for which no bound is known. */
interface SlowPart {
  /** Where it begins in the pattern, counted from 1 in UTF-16 code units. */
  readonly character: number;
  readonly text: string;
  /** What is wrong with it and what to write instead, as in `from character 3, "a+" …`. */
  readonly why: string;
}

/** The budget of several patterns. */
export interface PatternSteps {
  left: number;
  /** Of the last pattern. */
  tests: number;
}

/** How many ranges of characters take as long as one transition. */
const RANGES = 8;

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
 * @param steps What is left for several patterns, in transitions and in ranges of characters; default: each pattern has
 *   a budget of its own. It gets the number of tests that a character of a text takes at most.
 * @returns undefined for a pattern that has the engine test at most {@link maxTestsPerCharacter} for each character.
 */
export function slowPart(source: string, steps?: PatternSteps): SlowPart | undefined {
  if (steps !== undefined) steps.tests = 1;
  try {
    const pattern = parsed(source);
    if (pattern === undefined) return undefined;
    const automaton = positionAutomaton(pattern);
    const part = crowdedPart(pattern, automaton, false, steps);
    if (part !== undefined) return blamed(part, ambiguous);
    const start = automaton.isAnchored ? undefined : crowdedPart(pattern, automaton, true, steps);
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

/** A state that the engine may be in after some beginning of a text. */
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
function crowdedPart(
  pattern: AST.Pattern,
  automaton: PositionAutomaton,
  everywhere: boolean,
  shared?: PatternSteps,
): AST.Node | undefined {
  const { places, first, further, empty, isMetByNothing } = automaton;
  const budget = shared ?? { left: BUDGET, tests: 1 };
  if (shared !== undefined) {
    shared.left -= places.reduce((ranges, { accepts }) => ranges + accepts.ranges.length, 0) / RANGES;
    if (shared.left < 0) throw new UnsupportedPattern('has too many places', pattern);
  }
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
      budget.tests = Math.max(budget.tests, total);
      const key = `${begins !== undefined} ${[...walks].toSorted(([one], [other]) => one - other).join(' ')}`;
      if (visited.has(key)) continue;
      visited.add(key);
      open.push({ walks, begins });
      if (budget.left < 0) throw new UnsupportedPattern('has too many ways through it', blame(walks));
    }
  }
  return undefined;

  function after({ walks, begins }: State, character: number): Map<number, number> {
    const next = new Map<number, number>();
    const follow = (moves: Moves | undefined, count: number): void => {
      const reached = moves?.[character] ?? [];
      budget.left -= 1 + reached.length;
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
