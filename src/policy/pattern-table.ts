import type { Entry } from './entry.ts';
import type { Pattern } from './pattern.ts';
import type { PolicyFault } from './policy-error.ts';

/** Finds the one entry for a name: its exact name, else the most specific pattern, else none. */
export interface PatternTable {
  readonly exact: (name: string) => Entry | undefined;
  /** Among the patterns only. */
  readonly matching: (name: string) => Entry | undefined;
}

/**
 * Compiles the names of entries. An exact name has priority over a pattern, and a pattern with more characters besides
 * `*` over one with fewer. Ties go to the first in code unit order, so that the order of the file never matters.
 * Appends equal patterns to `faults`.
 */
export function patternTable(
  entries: readonly Entry[],
  compile: (name: string) => Pattern,
  faults: PolicyFault[],
): PatternTable {
  const exact = new Map<string, Entry>();
  const patterns = new Map<string, Pattern & { readonly entry: Entry }>();
  for (const entry of entries) {
    if (!entry.name.includes('*')) {
      exact.set(entry.name, entry);
      continue;
    }
    const pattern = compile(entry.name);
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
export type IsMistakable = (name: string, found: Entry) => boolean;

/**
 * Compiles a second table of the entries, by their names after `fold`. At a server that folds names, a name that a
 * pattern covers only in its own spelling would bypass the entry of its folded spelling: `get_SECRET` under `get_*`
 * beside an exact `get_secret`.
 */
export function mistakableNames(
  entries: readonly Entry[],
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
