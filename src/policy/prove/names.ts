import type { Entry } from '../entry.ts';
import { listedAutomaton } from '../patterns/listed-automaton.ts';
import { patternAutomaton } from '../patterns/pattern-automaton.ts';
import { distinguishedTexts } from '../patterns/texts.ts';
import { Undecidable } from '../patterns/undecidable.ts';
import type { Predicate } from '../predicate.ts';
import { leavesOf } from './candidates.ts';
import type { NameKind } from './name-kinds.ts';

/** The names of one kind that a policy lists. */
export interface NameTable {
  readonly entries: readonly Entry[];
  readonly find: (name: string) => Entry | undefined;
}

/** A name for all names that the same entries decide. */
export interface NameClass {
  /** Undefined: no name is known, though there may be one. */
  readonly name: string | undefined;
  /** The entry of each table; undefined: it lists no such name. */
  readonly entries: readonly (Entry | undefined)[];
  readonly class: string;
}

/** The limit on combinations of patterns. */
const MAX_COMBINATIONS = 2000;

/**
 * A name for each combination of entries that can decide a name for which predicates hold. Names that the gateway
 * refuses for their mere spelling, although a pattern covers them, are left out unless a predicate lists them.
 *
 * @throws {Undecidable}
 */
export function namesOf(
  tables: readonly NameTable[],
  predicates: readonly Predicate[],
  kind: NameKind,
): readonly NameClass[] {
  const leaves = predicates.flatMap(leavesOf);
  const isWanted = (name: string): boolean => predicates.every(({ test }) => test(name));
  const listed = leaves.flatMap(({ operand }) => (operand.kind === 'scalars' ? operand.scalars.map(String) : []));
  const named = new Set(listed);
  const found = new Map<string, NameClass>();
  const classIn = (name: string): NameClass => {
    return { name, entries: tables.map(({ find }) => find(name)), class: kind.classOf(name) };
  };
  const add = (name: string): void => {
    if (!kind.isPossible(name) || !isWanted(name) || (isLeftOut(name, tables, kind) && !named.has(name))) return;
    const each = classIn(name);
    const key = keyOf(each);
    if (!found.has(key)) found.set(key, each);
  };
  const exact = tables
    .flatMap(({ entries }) => entries.map(({ name }) => name).filter((name) => !kind.isPattern(name)))
    .flatMap((name) => [name, kind.plain(name)]);
  const patterns = tables.map(({ entries }) => entries.filter(({ name }) => kind.isPattern(name)));
  for (const name of [...exact, ...listed, ...patterns.flat().flatMap(({ name }) => kind.samplesOf(name))]) add(name);
  const expressions = leaves.flatMap(({ operand }) => (operand.kind === 'pattern' ? [operand.source] : []));
  const every = kind.all?.(
    patterns.flat().map(({ name }) => name),
    [...listed, ...expressions],
  );
  for (const name of [...kind.known, ...kind.fresh, ...(every ?? [])]) add(name);

  const isFinite = predicates.some(({ operand }) => operand.kind === 'scalars');
  if (isFinite || (every !== undefined && expressions.length === 0)) return [...found.values()];
  const exists = every && new Set(every.map((name) => keyOf(classIn(name))));
  const arePlain = patterns.flat().every(({ name }) => kind.plain(name) === name);
  const possible = new RegExp(kind.possible, 'u');
  const sources = [
    ...kind.sources,
    ...expressions,
    ...patterns.flat().flatMap(({ name }) => (kind.plain(name) === name ? [] : sourcesOf(kind.plain(name), kind))),
  ];
  for (const entries of combinations(patterns, kind)) {
    const keys = kind.classes.map((each) => [each, keyOf({ entries, class: each })] as const);
    const open = keys.flatMap(([each, key]) => (found.has(key) || exists?.has(key) === false ? [] : [each]));
    if (open.length === 0) continue;
    const covering = entries.filter((entry) => entry !== undefined);
    const others = patterns.flat().filter((each) => covering.every((entry) => kind.mayMeet(each.name, entry.name)));
    const patternSources = others.flatMap(({ name }) => sourcesOf(name, kind));
    // Where no pattern is to cover a name, it does not matter which of them would.
    const joined = arePlain && covering.length === 0 && kind.ends === '' && patternSources.length > 0;
    const all = [...sources, ...(joined ? [patternSources.join('|')] : patternSources)];
    const names = [...new Set([...exact, ...listed, ...kind.known])].filter((name) =>
      kind.ends === ''
        ? isCovered(name, covering, kind)
        : covering.every((entry) => kind.mayMeet(`${name}**`, entry.name)),
    );
    const texts = distinguishedTexts(
      [...all.map(patternAutomaton), listedAutomaton(names, kind.ends)],
      patternAutomaton(kind.possible),
    );
    for (const text of texts) add(text);
    const isElsewhere = (text: string): boolean =>
      entries.some((entry, at) => entry === undefined && patterns[at]?.some((each) => isCovered(text, [each], kind)));
    // A name that is left out is one of many: some of the others may not be.
    const misspelled = texts.filter(
      (text) =>
        isWanted(text) &&
        isCovered(text, covering, kind) &&
        !isElsewhere(text) &&
        (kind.isPossible(text) ? isLeftOut(text, tables, kind) : possible.test(text)),
    );
    const classes = new Set(misspelled.map(kind.classOf));
    for (const each of open) {
      const unknown = { name: undefined, entries, class: each };
      if (classes.has(each) && !found.has(keyOf(unknown))) found.set(keyOf(unknown), unknown);
    }
  }
  return [...found.values()];
}

function keyOf({ entries, class: own }: Pick<NameClass, 'entries' | 'class'>): string {
  return [own, ...entries.map((entry) => entry?.rule)].join('\n');
}

/** Each choice of one pattern, or none, from every table. */
function combinations(
  patterns: readonly (readonly Entry[])[],
  kind: NameKind,
): readonly (readonly (Entry | undefined)[])[] {
  let found: (readonly (Entry | undefined)[])[] = [[]];
  for (const own of patterns) {
    found = found.flatMap((chosen) =>
      [...own, undefined]
        .filter((next) =>
          chosen.every((each) => each === undefined || next === undefined || kind.mayMeet(each.name, next.name)),
        )
        .map((next) => chosen.concat(next)),
    );
    if (found.length > MAX_COMBINATIONS) throw new Undecidable('too many patterns');
  }
  return found;
}

function isLeftOut(name: string, tables: readonly NameTable[], kind: NameKind): boolean {
  return tables.some(
    ({ entries, find }) =>
      find(name) === undefined &&
      entries.some((entry) => kind.isPattern(entry.name) && isCovered(name, [entry], kind)) &&
      kind.isMisspelled(name),
  );
}

const expressions = new WeakMap<Entry, RegExp>();

/** Whether all of some patterns cover a name in its spelling. */
function isCovered(name: string, entries: readonly Entry[], kind: NameKind): boolean {
  return entries.every((entry) => {
    const expression = expressions.get(entry) ?? new RegExp(kind.sourceOf(entry.name), 'u');
    expressions.set(entry, expression);
    return expression.test(name);
  });
}

/** Expressions that tell apart what a pattern covers, and what it covers after a server has dropped the end. */
function sourcesOf(pattern: string, kind: NameKind): readonly string[] {
  const source = kind.sourceOf(pattern);
  const { ends } = kind;
  // What ends with `**` covers both alike, and what has such a character covers nothing without it.
  if (ends === '' || /^[^*]*\*\*$/.test(pattern) || Array.from(ends).some((end) => pattern.includes(end)))
    return [source];
  const shorter = source.replace(/\$$/, '');
  const dropped = String.raw`[${ends}][\s\S]*`;
  // `*` covers no such character, so that one expression with the one in `sources` tells all three apart.
  return pattern.includes('**') ? [source, `${shorter}${dropped}$`] : [`${shorter}(?:${dropped})?$`];
}
