import { plainName } from '../../lib/look-alike.ts';
import { knownRequests, mcpMethod, mistakenFor, type ListedKind } from '../../model/mcp.ts';
import type { Entry } from '../entry.ts';
import { listedAutomaton } from '../patterns/listed-automaton.ts';
import { patternAutomaton } from '../patterns/pattern-automaton.ts';
import { distinguishedTexts } from '../patterns/texts.ts';
import { Undecidable } from '../patterns/undecidable.ts';
import type { Predicate } from '../predicate.ts';
import { plainUri, uriFlaw } from '../resources.ts';
import { leavesOf } from './candidates.ts';

/** The names of one kind that a policy lists. */
export interface NameTable {
  readonly entries: readonly Entry[];
  readonly find: (name: string) => Entry | undefined;
}

/** What names of a kind are like. */
export interface NameKind {
  /** As a regular expression, what `*` stands for; `**` stands for anything. */
  readonly star: string;
  /** What to put in place of `*`, and a name of which no policy has heard. */
  readonly samples: {
    readonly star: readonly string[];
    readonly any: readonly string[];
    readonly fresh: readonly string[];
  };
  /** Regular expressions that tell names apart besides the entries. */
  readonly sources: readonly string[];
  /** Names that each have a class of their own. */
  readonly known: readonly string[];
  /** What a decision depends on besides the entry. */
  readonly classOf: (name: string) => string;
  /** The classes of which there may be any number of names. */
  readonly classes: readonly string[];
  /** How a lenient server reads a name. A pattern covers no name that such a server reads as one of another entry. */
  readonly plain: (name: string) => string;
  /** Characters at which some servers end a name. */
  readonly ends: string;
  /** Whether the gateway refuses a name, which a pattern covers, for its mere spelling. */
  readonly isMisspelled: (name: string) => boolean;
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
  const add = (name: string): void => {
    if (!isWanted(name) || (isLeftOut(name, tables, kind) && !named.has(name))) return;
    const each = { name, entries: tables.map(({ find }) => find(name)), class: kind.classOf(name) };
    const key = keyOf(each);
    if (!found.has(key)) found.set(key, each);
  };
  const exact = tables
    .flatMap(({ entries }) => entries.map(({ name }) => name).filter((name) => !isPattern(name)))
    .flatMap((name) => [name, kind.plain(name)]);
  const patterns = tables.map(({ entries }) => entries.filter(({ name }) => isPattern(name)));
  for (const name of [...exact, ...listed, ...patterns.flat().flatMap((each) => samplesOf(each, kind))]) add(name);
  for (const name of [...kind.known, ...kind.samples.fresh]) add(name);

  const isFinite = predicates.some(({ operand }) => operand.kind === 'scalars');
  if (isFinite) return [...found.values()];
  const sources = [
    ...kind.sources,
    ...leaves.flatMap(({ operand }) => (operand.kind === 'pattern' ? [operand.source] : [])),
    ...patterns.flat().flatMap(({ name }) => (kind.plain(name) === name ? [] : sourcesOf(kind.plain(name), kind))),
  ];
  for (const entries of combinations(patterns)) {
    const open = kind.classes.filter((each) => !found.has(keyOf({ entries, class: each })));
    if (open.length === 0) continue;
    const covering = entries.filter((entry) => entry !== undefined);
    const others = patterns.flat().filter((each) => covering.every((entry) => mayMeet(each.name, entry.name)));
    const all = [...sources, ...others.flatMap(({ name }) => sourcesOf(name, kind))];
    const names = [...new Set([...exact, ...listed, ...kind.known])].filter((name) =>
      kind.ends === '' ? isCovered(name, covering, kind) : covering.every((entry) => mayMeet(`${name}**`, entry.name)),
    );
    const texts = distinguishedTexts([...all.map(patternAutomaton), listedAutomaton(names, kind.ends)]);
    for (const text of texts) add(text);
    // A name that is left out is one of many: some of the others may not be.
    const misspelled = texts.filter(
      (text) => isWanted(text) && isCovered(text, covering, kind) && isLeftOut(text, tables, kind),
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

function isPattern(name: string): boolean {
  return name.includes('*');
}

/** Each choice of one pattern, or none, from every table. */
function combinations(patterns: readonly (readonly Entry[])[]): readonly (readonly (Entry | undefined)[])[] {
  let found: (readonly (Entry | undefined)[])[] = [[]];
  for (const own of patterns) {
    found = found.flatMap((chosen) =>
      [...own, undefined]
        .filter((next) =>
          chosen.every((each) => each === undefined || next === undefined || mayMeet(each.name, next.name)),
        )
        .map((next) => chosen.concat(next)),
    );
    if (found.length > MAX_COMBINATIONS) throw new Undecidable('too many patterns');
  }
  return found;
}

/** Whether two patterns can cover one name, as far as their beginnings and ends say. */
function mayMeet(one: string, other: string): boolean {
  const [ownStart = '', otherStart = ''] = [one, other].map((name) => name.slice(0, name.indexOf('*')));
  const [ownEnd = '', otherEnd = ''] = [one, other].map((name) => name.slice(name.lastIndexOf('*') + 1));
  const starts = ownStart.startsWith(otherStart) || otherStart.startsWith(ownStart);
  return starts && (ownEnd.endsWith(otherEnd) || otherEnd.endsWith(ownEnd));
}

function isLeftOut(name: string, tables: readonly NameTable[], kind: NameKind): boolean {
  return tables.some(
    ({ entries, find }) =>
      find(name) === undefined &&
      entries.some((entry) => isPattern(entry.name) && isCovered(name, [entry], kind)) &&
      kind.isMisspelled(name),
  );
}

const expressions = new WeakMap<Entry, RegExp>();

/** Whether all of some patterns cover a name in its spelling. */
function isCovered(name: string, entries: readonly Entry[], kind: NameKind): boolean {
  return entries.every((entry) => {
    const expression = expressions.get(entry) ?? new RegExp(sourceOf(entry.name, kind), 'u');
    expressions.set(entry, expression);
    return expression.test(name);
  });
}

/** A pattern of the policy language as a regular expression. */
function sourceOf(pattern: string, { star }: NameKind): string {
  const parts = pattern.split(/(\*+)/).map((part, index) => {
    if (index % 2 === 0) return literal(part);
    return part.length > 1 ? String.raw`[\s\S]*` : star;
  });
  return `^${parts.join('')}$`;
}

/** Expressions that tell apart what a pattern covers, and what it covers after a server has dropped the end. */
function sourcesOf(pattern: string, kind: NameKind): readonly string[] {
  const source = sourceOf(pattern, kind);
  const { ends } = kind;
  // What ends with `**` covers both alike, and what has such a character covers nothing without it.
  if (ends === '' || /^[^*]*\*\*$/.test(pattern) || Array.from(ends).some((end) => pattern.includes(end)))
    return [source];
  const shorter = source.replace(/\$$/, '');
  const dropped = String.raw`[${ends}][\s\S]*`;
  // `*` covers no such character, so that one expression with the one in `sources` tells all three apart.
  return pattern.includes('**') ? [source, `${shorter}${dropped}$`] : [`${shorter}(?:${dropped})?$`];
}

/** A text as a regular expression. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function samplesOf({ name }: Entry, { samples }: NameKind): readonly string[] {
  return [0, 1, 2].map((index) =>
    name.replaceAll(/\*+/g, (stars) => (stars.length > 1 ? samples.any : samples.star)[index] ?? ''),
  );
}

/** What names of tools and prompts are like. */
const plainNames: NameKind = {
  star: String.raw`[\s\S]*`,
  samples: { star: ['x', '', 'xx'], any: ['x', '', 'xx'], fresh: ['x', 'xx', 'x_1'] },
  sources: [],
  known: [],
  classOf: () => '',
  classes: [''],
  plain: plainName,
  ends: '',
  isMisspelled: (name) => plainName(name) !== name,
};

/** URIs, most of them in canonical form. */
const canonicalUri = '^[a-z]+:/{0,3}[A-Za-z0-9]+(?:[/?#&=_.-][A-Za-z0-9]+)*$';

const uris: NameKind = {
  ...plainNames,
  star: '[^/?#]*',
  samples: { star: ['x', '', 'xx'], any: ['x', 'x/x', 'x://x'], fresh: ['x://x', 'y://y', 'x'] },
  sources: [canonicalUri, '[?#]'],
  plain: plainUri,
  ends: '?#',
  isMisspelled: (uri) => uriFlaw(uri) !== undefined || plainUri(uri) !== uri,
};

const methods: NameKind = {
  ...plainNames,
  samples: { ...plainNames.samples, fresh: ['x', 'x/list', 'notifications/x'] },
  sources: ['^notifications/', '^tasks/', '/list$'],
  known: [...knownRequests.keys()],
  classOf: methodClass,
  classes: ['entry', 'exact entry', 'housekeeping'],
  isMisspelled: (name) =>
    methodClass(name) !== 'exact entry' && (mistakenFor(name) !== undefined || plainName(name) !== name),
};

/** What allows a method, and which kind of target it needs. */
function methodClass(name: string): string {
  const { allowedBy, target } = mcpMethod(name);
  return allowedBy === 'target' ? target.kind : allowedBy;
}

/** What names of each kind are like. */
export const nameKinds: Readonly<Record<ListedKind, NameKind>> = {
  tool: plainNames,
  prompt: plainNames,
  resource: uris,
  template: uris,
  method: methods,
};
