/**
 * @module Requests that tell patterns apart, for proofs. Where a property describes requests by regular expressions, a
 * request is a method and segments: a walk
 * goes from segment to segment, along the patterns that still cover what it has read. Only the expressions, and what a
 * segment may be, are followed character by character, so that many patterns do not multiply.
 */

import { memoized } from '../../core/lib/remembered.ts';
import { patternAutomaton } from './pattern-automaton.ts';
import { type EndedText, endedTexts, listedAutomaton, type TextAutomaton } from './text-automaton.ts';
import { patternText, plainPattern, requestPattern } from '../../core/policy/requests.ts';

/** The forms of the parts of a request, as regular expressions. */
export interface RequestForms {
  readonly method: string;
  readonly segment: string;
  /** Segments that every server reads alike. */
  readonly plainSegment: string;
}

type Pattern = ReturnType<typeof requestPattern>;

/** A place of the walk: a path that has been read, and what may follow. */
interface Place {
  readonly text: string;
  readonly depth: number;
  readonly live: readonly Pattern[];
  /** The states of the expressions. */
  readonly states: readonly number[];
  /** How its segments are spelled: plainly, and with a segment that a server may read as a literal without its end. */
  readonly spelling: readonly [isPlain: boolean, isLonger: boolean];
}

/**
 * A request for each set of patterns that cover one, as they are written and as a lenient server reads them, together
 * with each set of expressions that match it.
 *
 * @throws {Undecidable} for expressions that no automaton decides, or that tell too many texts apart.
 */
export function requestsMatching(
  names: readonly string[],
  expressions: readonly string[],
  { method, segment, plainSegment }: RequestForms,
): readonly string[] {
  const patterns = names.map(requestPattern);
  const own = expressions.map(patternAutomaton);
  const forms = [segment, plainSegment].map((source) => patternAutomaton(`^(?:${source})$`));
  const end = Math.max(0, ...patterns.map(({ segments }) => segments.length));
  const budget = { steps: MAX_STEPS };
  const after = (states: readonly number[], text: string): readonly number[] =>
    own.map((automaton, index) => run(automaton, states[index] ?? 0, text));
  const segmentsAt = memoized(
    ([states, literals]: readonly [states: readonly number[], literals: readonly string[]]): readonly EndedText[] =>
      endedTexts([...forms, segmentsListed(literals)], own, states, budget),
    JSON.stringify,
  );

  const found = new Map<string, string>();
  const add = ({ live, depth, states, spelling }: Place, text: string, last: readonly number[]): void => {
    const covering = live.filter(
      ({ segments, hasRest }) => segments.length === depth || (hasRest && segments.length < depth),
    );
    const matched = own.map(({ classOf }, index) => classOf(last[index] ?? 0));
    const key = JSON.stringify([covering.map((each) => patterns.indexOf(each)), matched, spelling, states === last]);
    if (!found.has(key)) found.set(key, text);
  };
  const visited = new Set<string>();
  let open: readonly Place[] = methodsOf(patterns, own, method, budget).map(({ text, states }) => {
    const live = patterns.filter((each) => covers(each.method, text));
    return { text: `${text} `, depth: 0, live, states: after(states, ' '), spelling: [true, false] };
  });
  while (open.length > 0) {
    const next: Place[] = [];
    for (const place of open) {
      const { text, depth, live, states, spelling } = place;
      const key = JSON.stringify([
        Math.min(depth, end + 1),
        live.map((each) => patterns.indexOf(each)),
        states,
        spelling,
      ]);
      if (visited.has(key)) continue;
      visited.add(key);
      const slash = after(states, '/');
      if (depth > 0) add(place, text, states);
      add({ ...place, depth: depth + 1, live: live.filter((each) => meets(each, depth, '')) }, `${text}/`, slash);
      const literals = new Set(live.flatMap(({ segments }) => segments[depth] ?? []));
      for (const read of segmentsAt([slash, [...literals].filter((each) => each !== '')])) {
        const [, plain, listed] = read.classes;
        next.push({
          text: `${text}/${read.text}`,
          depth: depth + 1,
          live: live.filter((each) => meets(each, depth, read.text)),
          states: read.states,
          spelling: [spelling[0] && plain === 'true', spelling[1] || listed?.startsWith('true') === true],
        });
      }
    }
    open = next;
  }
  return [...found.values()];
}

/** The limit on the characters that one walk looks at: about a second. */
const MAX_STEPS = 10_000_000;

/** Tells segments apart: each literal, and what a server may read as one without its end. */
const segmentsListed = memoized((literals: readonly string[]) => listedAutomaton(literals, '.:'), JSON.stringify);

function methodsOf(
  patterns: readonly Pattern[],
  own: readonly TextAutomaton[],
  method: string,
  budget: { steps: number },
): readonly EndedText[] {
  const named = new Set(['GET', 'HEAD', ...patterns.map((pattern) => pattern.method).filter((each) => each !== '*')]);
  const forms = [patternAutomaton(`^(?:${method})$`), listedAutomaton([...named])];
  return endedTexts(
    forms,
    own,
    own.map(() => 0),
    budget,
  );
}

/** RFC 9110 §9.3.2: HEAD is GET without a body. */
function covers(pattern: string, method: string): boolean {
  return pattern === '*' || pattern === method || (pattern === 'GET' && method === 'HEAD');
}

/** Whether a pattern can cover a path that has a segment at a depth. */
function meets({ segments, hasRest }: Pattern, depth: number, segment: string): boolean {
  if (depth >= segments.length) return hasRest;
  const own = segments[depth];
  return own === undefined ? segment !== '' : own === segment;
}

function run({ step }: TextAutomaton, from: number, text: string): number {
  let state = from;
  for (const character of text) state = step(state, character.codePointAt(0) ?? 0);
  return state;
}

/**
 * A request for each combination of patterns that can cover one, as it is written and as a lenient server reads it.
 *
 * @param mentions Texts besides the patterns. Where a request may have any method or segment, it has none of these.
 */
export function distinguishedRequests(names: readonly string[], mentions: readonly string[]): readonly string[] {
  const written = names.map(requestPattern);
  const patterns = [...written, ...written.map(plainPattern)];
  const arePlain = written.every((pattern) => patternText(plainPattern(pattern)) === patternText(pattern));
  const depth = 2 + Math.max(0, ...patterns.map(({ segments }) => segments.length));
  const texts = [...names, ...mentions];
  const fresh = unlike('x', new Set(texts.flatMap((text) => text.split(/[\s/]/))));
  const segments = arePlain ? [fresh] : [fresh, vanishing];

  const paths = ['/'];
  const visited = new Set<string>();
  const visit = (path: string, at: number, live: readonly Pattern[]): void => {
    const key = JSON.stringify([at, path.includes(vanishing), live.map((each) => patterns.indexOf(each))]);
    if (visited.has(key)) return;
    visited.add(key);
    if (at > 0) paths.push(path, `${path}/`);
    if (at === depth) return;
    for (const segment of new Set([...segments, ...live.map((pattern) => pattern.segments[at] ?? fresh)])) {
      if (segment === '') continue;
      const next = live.filter((each) => meets(each, at, segment));
      visit(`${path}/${segment}`, at + 1, next);
    }
  };
  visit('', 0, patterns);

  const methods = new Set(['GET', ...texts.flatMap((text) => text.match(/[A-Z]+(?:-[A-Z]+)*/g) ?? []), 'HEAD']);
  const other = ['PUT', 'PATCH'].find((each) => !methods.has(each)) ?? unlike('X', methods);
  return [...methods, other].flatMap((method) => paths.map((path) => `${method} ${path}`));
}

/** A text, repeated until it is none of others. */
function unlike(text: string, others: ReadonlySet<string>): string {
  return others.has(text) ? unlike(text + text, others) : text;
}

/** A segment that is empty for a lenient server. */
const vanishing = '...';
