import type { PolicyFault } from './document.ts';

/** A variable in the key of a resource or a request: a letter, then letters, digits and `_`. */
const variable = /\{[A-Za-z][A-Za-z0-9_]*\}/;

/** The names of the variables in a key, in their order. */
export function variablesIn(key: string): readonly string[] {
  return Array.from(key.matchAll(new RegExp(variable, 'g')), ([text]) => text.slice(1, -1));
}

/** A key with `*` in place of each variable, which it counts as. */
export function withoutVariables(key: string): string {
  return key.replaceAll(new RegExp(variable, 'g'), '*');
}

/** A compiled name with `*` in it. */
interface Pattern {
  /** With superfluous `*` left out: equal patterns are equal here. */
  readonly canonical: string;
  /** Characters that are not `*`, in UTF-16 code units: the more, the more specific. */
  readonly literals: number;
  /** The number of `**`: of two patterns with equally many literals, the one with fewer is more specific. */
  readonly unbounded: number;
  readonly matches: (name: string) => boolean;
}

/**
 * Compiles a name in which `*` stands for any run of characters, also none. Every other character stands for itself,
 * case-sensitively. Each part is searched only once, so that no name that a caller chooses is slow to match.
 */
export function namePattern(pattern: string): Pattern {
  const canonical = pattern.replaceAll(/\*+/g, '*');
  const parts = canonical.split('*');
  const prefix = parts[0] ?? '';
  const suffix = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return {
    canonical,
    literals: canonical.length - (parts.length - 1),
    unbounded: 0,
    matches(name) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) return false;
      let from = prefix.length;
      for (const part of middle) {
        const at = name.indexOf(part, from);
        if (at < 0) return false;
        from = at + part.length;
      }
      // The ends must not overlap: `a*a` does not match `a`.
      return from <= name.length - suffix.length;
    },
  };
}

/**
 * Compiles a URI in which `*` stands for any run of characters within a segment, also none, and `**` for any run at
 * all. A segment ends at `/`, `?` and `#` (RFC 3986 §3.3), so that `*` never covers a query. Every other character
 * stands for itself, in its case.
 */
export function uriPattern(pattern: string): Pattern {
  const canonical = withoutVariables(pattern).replaceAll(/\*{2,}/g, '**');
  const steps = pattern.replaceAll(/\*{2,}/g, '**').replaceAll(new RegExp(variable, 'g'), `${ONE}*`);
  return {
    canonical,
    literals: canonical.replaceAll('*', '').length,
    unbounded: canonical.split('**').length - 1,
    matches: (uri) => matchesUri(steps, uri),
  };
}

/** In a pattern: one character of a segment. No URI has it. */
const ONE = '\0';

/**
 * Compiles a key of `resources`: finds the texts that a variable of it stands for in a URI that the key matches.
 *
 * @returns a function that throws for a URI with too many readings.
 */
export function uriVariable(pattern: string, name: string): (uri: string) => readonly string[] {
  const tokens = pattern.split(/(\*+|\{[A-Za-z][A-Za-z0-9_]*\})/).filter(Boolean);
  const own = tokens.indexOf(`{${name}}`);
  const before = tokens.slice(0, own).map(tokenStep);
  const after = tokens.slice(own + 1).map(tokenStep);
  // All variables of a key together have the steps of one search.
  const steps = MAX_STEPS / variablesIn(pattern).length;
  return (uri) => {
    const starts = before.reduce<Places>((places, step) => step.forwards(places, uri), new Set([0]));
    const ends = after.reduceRight<Places>((places, step) => step.backwards(places, uri), new Set([uri.length]));
    const found = new Set<string>();
    let left = steps;
    for (const start of starts) {
      for (let at = start; at < uri.length && !endsSegment(uri[at]); at += 1) {
        if ((left -= 1) < 0) throw new Error('the uri has too many readings');
        if (ends.has(at + 1)) found.add(uri.slice(start, at + 1));
      }
    }
    return [...found];
  };
}

/** Places between the characters of a URI. */
type Places = ReadonlySet<number>;

/** A part of a pattern: the places after it, and those before it. */
interface TokenStep {
  readonly forwards: (from: Places, uri: string) => Places;
  readonly backwards: (from: Places, uri: string) => Places;
}

function tokenStep(token: string): TokenStep {
  const isVariable = variable.test(token);
  if (!isVariable && !token.includes('*')) {
    return {
      forwards: (from, uri) => moveOnce(from, token.length, (at) => uri.startsWith(token, at)),
      backwards: (from, uri) => moveOnce(from, -token.length, (at) => uri.endsWith(token, at)),
    };
  }
  const move = isVariable ? moveOnceOrMore : moveAnyTimes;
  const isAny = token.length > 1 && !isVariable;
  const isCovered = (uri: string, at: number): boolean =>
    at >= 0 && at < uri.length && (isAny || !endsSegment(uri[at]));
  return {
    forwards: (from, uri) => move(from, 1, (at) => isCovered(uri, at)),
    backwards: (from, uri) => move(from, -1, (at) => isCovered(uri, at - 1)),
  };
}

/** The places after one move by as many characters, backwards if fewer than 0, from those that it can leave. */
function moveOnce(from: Places, by: number, canLeave: (at: number) => boolean): Places {
  const reached = new Set<number>();
  for (const at of from) if (canLeave(at)) reached.add(at + by);
  return reached;
}

/** The places after one move or more. */
function moveOnceOrMore(from: Places, by: number, canLeave: (at: number) => boolean): Places {
  return moveAnyTimes(moveOnce(from, by, canLeave), by, canLeave);
}

/** The places after any number of moves, also none. */
function moveAnyTimes(from: Places, by: number, canLeave: (at: number) => boolean): Places {
  // A set is walked in the order of insertion, additions during the walk included.
  const reached = new Set(from);
  for (const at of reached) if (canLeave(at)) reached.add(at + by);
  return reached;
}

/**
 * Far more steps than any ordinary URI takes. A URI made to be slow exceeds them, which is an error and thus a denial.
 */
const MAX_STEPS = 50_000;

/**
 * Tries each wildcard as short as possible, and lengthens only the last `*` and the last `**`. Earlier ones need not be
 * tried again: what they could still take, the later one of the same kind takes as well, and a `*` cannot give away a
 * `/`. So it takes at most quadratic time, where a regular expression would take exponential.
 */
function matchesUri(pattern: string, uri: string): boolean {
  let at = 0;
  let step = 0;
  // For the last wildcard of each kind: where the pattern continues after it, 0 without one, and where its match ends.
  let afterStar = 0;
  let starUntil = 0;
  let afterAny = 0;
  let anyUntil = 0;
  for (let left = MAX_STEPS; ; left -= 1) {
    if (left === 0) throw new Error('the uri takes too many steps to match');
    if (pattern[step] === '*') {
      if (pattern[step + 1] === '*') {
        step += 2;
        afterAny = step;
        anyUntil = at;
        afterStar = 0;
      } else {
        step += 1;
        afterStar = step;
        starUntil = at;
      }
      continue;
    }
    // The URI ends before the pattern's literals do; longer wildcards would leave even less for them.
    if (at === uri.length) return step === pattern.length;
    if (pattern[step] === uri[at] || (pattern[step] === ONE && !endsSegment(uri[at]))) {
      step++;
      at++;
    } else if (afterStar > 0 && !endsSegment(uri[starUntil])) {
      at = ++starUntil;
      step = afterStar;
    } else if (afterAny > 0) {
      // The last `*` has come to the end of its segment, and stays there until the pattern has another.
      at = ++anyUntil;
      step = afterAny;
    } else {
      return false;
    }
  }
}

function endsSegment(character: string | undefined): boolean {
  return character === '/' || character === '?' || character === '#';
}

interface NamedEntry {
  readonly key: string;
  readonly name: string;
  readonly rule: string;
}

/** Finds the one entry for a name: its exact name, else the most specific pattern, else none. */
interface PatternTable<Entry> {
  readonly exact: (name: string) => Entry | undefined;
  /** Among the patterns only. */
  readonly matching: (name: string) => Entry | undefined;
}

/**
 * Compiles the names of entries. An exact name has priority over a pattern, and a pattern with more characters besides
 * `*` over one with fewer. Ties go to the first in code unit order, so that the order of the file never matters.
 * Appends equal patterns to `faults`.
 */
export function patternTable<Entry extends NamedEntry>(
  entries: readonly Entry[],
  compile: (name: string) => Pattern,
  faults: PolicyFault[],
): PatternTable<Entry> {
  const exact = new Map<string, Entry>();
  const patterns = new Map<string, Pattern & { readonly entry: Entry }>();
  for (const entry of entries) {
    const pattern = compile(entry.name);
    // Servers list a template by its very text.
    if (!entry.name.includes('*')) exact.set(entry.name, entry);
    if (!pattern.canonical.includes('*')) continue;
    const equal = patterns.get(pattern.canonical);
    if (equal !== undefined) {
      const other = JSON.stringify(equal.entry.name);
      const message = `matches the same ${entry.key} as ${other}; only one of them can apply`;
      faults.push({ path: [entry.key, entry.name], message });
    }
    patterns.set(pattern.canonical, { ...pattern, entry });
  }
  const sorted = [...patterns.values()].toSorted(
    (one, other) =>
      other.literals - one.literals || one.unbounded - other.unbounded || (one.canonical < other.canonical ? -1 : 1),
  );
  return {
    exact: (name) => exact.get(name),
    matching(name) {
      for (const pattern of sorted) if (pattern.matches(name)) return pattern.entry;
      return undefined;
    },
  };
}

/**
 * Whether a lenient server may take `name`, which the pattern of `found` covers, for a name that another entry decides.
 */
type IsMistakable = (name: string, found: Pick<NamedEntry, 'rule'>) => boolean;

/**
 * Compiles a second table of the entries, by their names after `fold`. At a server that folds names, a name that a
 * pattern covers only in its own spelling would bypass the entry of its folded spelling: `get_SECRET` under `get_*`
 * beside an exact `get_secret`.
 */
export function mistakableNames(
  entries: readonly NamedEntry[],
  compile: (name: string) => Pattern,
  fold: (name: string) => string,
): IsMistakable {
  const names = new Map(entries.map(({ rule, name }) => [rule, fold(name)]));
  const { exact, matching } = patternTable(
    entries.map((entry) => ({ ...entry, name: fold(entry.name) })),
    compile,
    [],
  );
  const allFolded = entries.every(({ name }) => fold(name) === name);
  return (name, found) => {
    const folded = fold(name);
    if (folded === name && allFolded) return false;
    // By name, not by entry: if two entries fold alike, each decides the names that are spelled like it.
    return (exact(folded) ?? matching(folded))?.name !== names.get(found.rule);
  };
}
