import { plainName } from '../../core/lib/look-alike.ts';
import { knownRequests, mcpMethod, mistakenFor } from '../../core/model/mcp.ts';
import type { ListedKind } from '../../core/model/mcp-method.ts';
import { withoutVariables } from '../../core/policy/pattern.ts';
import { anyMethod, nameSource, requestSource, uriSource } from '../../policy-files/key-sources.ts';
import {
  haveCommonRequest,
  plainRequest,
  requestFlaw,
  requestPattern,
  writtenRequest,
} from '../../core/policy/requests.ts';
import { distinguishedRequests, requestsMatching } from './request-names.ts';
import { plainUri, uriFlaw } from '../../core/policy/resources.ts';
import type { Entry } from '../../core/policy/entry.ts';
import { distinguishedTexts, listedAutomaton, Undecidable } from './text-automaton.ts';
import { patternAutomaton } from './pattern-automaton.ts';
import type { Predicate } from '../../core/policy/predicate.ts';
import { leavesOf } from './candidates.ts';

interface NameKind {
  /** Whether the name of an entry covers other names. */
  readonly isPattern: (name: string) => boolean;
  /** The names that an entry covers, as a regular expression. */
  readonly sourceOf: (pattern: string) => string;
  /** Whether two patterns may cover one name. True where that is not known. */
  readonly mayMeet: (one: string, other: string) => boolean;
  /** Names that a pattern covers. */
  readonly samplesOf: (pattern: string) => readonly string[];
  /** Names of which no policy has heard. */
  readonly fresh: readonly string[];
  /** The names that calls can have, as a regular expression, and exactly. */
  readonly possible: string;
  readonly isPossible: (name: string) => boolean;
  /**
   * A name for each combination of entries, of which there is no other; undefined: that is not known.
   *
   * @param mentions Texts of predicates.
   */
  readonly all: ((patterns: readonly string[], mentions: readonly string[]) => readonly string[]) | undefined;
  /**
   * The same with each combination of regular expressions that match one, in place of {@link NameKind.sources};
   * undefined: entries and expressions are put together character by character.
   */
  readonly matching?: (patterns: readonly string[], expressions: readonly string[]) => readonly string[];
  /** The entry that decides a name as it is written, whatever a lenient server makes of it. */
  readonly written?: (names: readonly string[]) => (name: string) => string | undefined;
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

/** The form of names of tools and prompts. */
const plainNames: NameKind = {
  isPattern: (name) => name.includes('*'),
  sourceOf: (pattern) => nameSource(pattern, String.raw`[\s\S]*`),
  mayMeet,
  samplesOf: (pattern) => ['x', '', 'xx'].map((any) => pattern.replaceAll(/\*+/g, any)),
  fresh: ['x', 'xx', 'x_1'],
  possible: '',
  isPossible: () => true,
  all: undefined,
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
  isPattern: (name) => withoutVariables(name).includes('*'),
  mayMeet: (one, other) => mayMeet(withoutVariables(one), withoutVariables(other)),
  sourceOf: uriSource,
  samplesOf: (pattern) =>
    (
      [
        ['x', 'x'],
        ['', 'x/x'],
        ['xx', 'x://x'],
      ] as const
    ).map(([star, any]) => withoutVariables(pattern).replaceAll(/\*+/g, (stars) => (stars.length > 1 ? any : star))),
  fresh: ['x://x', 'y://y', 'x'],
  sources: [canonicalUri, '[?#]'],
  plain: plainUri,
  ends: '?#',
  isMisspelled: (uri) => uriFlaw(uri) !== undefined || plainUri(uri) !== uri,
};

const methods: NameKind = {
  ...plainNames,
  fresh: ['x', 'x/list', 'notifications/x'],
  sources: ['^notifications/', '^tasks/', '/list$'],
  known: [...knownRequests.keys()],
  classOf: methodClass,
  classes: ['entry', 'exact entry', 'housekeeping'],
  isMisspelled: (name) =>
    methodClass(name) !== 'exact entry' && (mistakenFor(name) !== undefined || plainName(name) !== name),
};

/** The rule that allows a method, with the kind of target that it needs. */
function methodClass(name: string): string {
  const { allowedBy, target } = mcpMethod(name);
  return allowedBy === 'target' ? target.kind : allowedBy;
}

const hex = '[0-9A-Fa-f]';
const tail = `%[89ABab]${hex}`;
/** A part of a segment besides dots: plain characters, encoded ones that are no delimiters, and UTF-8. */
const unit = [
  "[A-Za-z0-9_~!$&'()*+,=:@-]",
  '%(?:2[0-46-9A-Ca-c]|3[AC-Fac-f]|40|5[BDEbde]|60|7[B-Db-d])',
  `%(?:[Cc][2-9A-Fa-f]|[Dd]${hex})${tail}`,
  `%[Ee](?:0%[ABab]${hex}|[1-9A-Ca-cEFef]${tail}|[Dd]%[89]${hex})${tail}`,
  `%[Ff](?:0%[9ABab]${hex}|[1-3]${tail}|4%8${hex})${tail}${tail}`,
].join('|');
/** A segment that is neither empty nor a dot segment. */
const segment = String.raw`(?:\.{0,2}(?:${unit})(?:${unit}|\.)*|\.{3}(?:${unit}|\.)*)`;

const requests: NameKind = {
  ...plainNames,
  // `GET` covers HEAD.
  isPattern: () => true,
  sourceOf: requestSource,
  mayMeet: haveCommonRequest,
  samplesOf(pattern) {
    const { method, segments, hasRest } = requestPattern(pattern);
    const named = method === 'GET' ? ['GET', 'HEAD'] : [method];
    const rests = hasRest ? ['', '/', '/x', '/x/x', '/xx'] : [''];
    const paths = ['x', 'xx'].flatMap((any) =>
      rests.map((rest) => segments.map((each) => `/${each ?? any}`).join('') + rest),
    );
    return (method === '*' ? ['GET', 'POST', 'X'] : named).flatMap((each) => paths.map((path) => `${each} ${path}`));
  },
  fresh: [],
  possible: `^${anyMethod} (?:/|(?:/${segment})+/?)$`,
  isPossible: (name) => requestFlaw(name, 'requests') === undefined,
  all: distinguishedRequests,
  matching: (patterns, expressions) =>
    requestsMatching(patterns, expressions, {
      method: anyMethod,
      segment,
      plainSegment: '[a-z0-9]+(?:[._-][a-z0-9]+)*',
    }),
  written: writtenRequest,
  sources: [],
  plain: plainRequest,
  isMisspelled: (name) => plainRequest(name) !== name,
};

/** The names of each kind. */
export const nameKinds: Readonly<Record<ListedKind, NameKind>> = {
  tool: plainNames,
  prompt: plainNames,
  resource: uris,
  template: uris,
  method: methods,
  request: requests,
};

/** Whether two patterns can cover one name, as far as their beginnings and ends say. */
function mayMeet(one: string, other: string): boolean {
  const [ownStart = '', otherStart = ''] = [one, other].map((name) => name.slice(0, name.indexOf('*')));
  const [ownEnd = '', otherEnd = ''] = [one, other].map((name) => name.slice(name.lastIndexOf('*') + 1));
  const starts = ownStart.startsWith(otherStart) || otherStart.startsWith(ownStart);
  return starts && (ownEnd.endsWith(otherEnd) || otherEnd.endsWith(ownEnd));
}

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
  if (kind.matching !== undefined && kind.written !== undefined) {
    const names = patterns.flat().map(({ name }) => name);
    const told = kind.matching([...new Set([...names, ...names.map(kind.plain)])], expressions);
    for (const name of told) add(name);
    const written = tables.map(({ entries }) => {
      const find = kind.written?.(entries.map(({ name }) => name));
      return (name: string) => entries.find((entry) => entry.name === find?.(name));
    });
    for (const name of told) {
      // A name that is left out is one of many: some of the others may not be.
      if (!isWanted(name) || (kind.isPossible(name) && !isLeftOut(name, tables, kind))) continue;
      const unknown = { name: undefined, entries: written.map((find) => find(name)), class: kind.classOf(name) };
      if (!found.has(keyOf(unknown))) found.set(keyOf(unknown), unknown);
    }
    return [...found.values()];
  }
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
