import type { Entry } from './entry.ts';
import type { PolicyFault } from './policy-error.ts';

/** A compiled name with `*` in it. */
export interface Pattern {
  /** With superfluous `*` left out: equal patterns are equal here. */
  readonly canonical: string;
  /** Characters that are not `*`, in UTF-16 code units: the more, the more specific. */
  readonly literals: number;
  /** How many of its wildcards know no bounds: of two with equally many literals, the fewer the more specific. */
  readonly unbounded: number;
  readonly matches: (name: string) => boolean;
}

/** Finds the one entry for a name: its exact name, else the most specific pattern, else none. */
export interface PatternTable {
  readonly exact: (name: string) => Entry | undefined;
  /** Among the patterns only. */
  readonly matching: (name: string) => Entry | undefined;
}

/**
 * Compiles the names of entries. An exact name beats a pattern; of patterns the one with more characters besides `*`
 * wins, and of two with equally many the first in code unit order, so that the order of the file never matters. Appends
 * to `faults` the patterns that are equal.
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
      const message = `matches the same ${entry.key} as ${JSON.stringify(equal.entry.name)}; only one of them can apply`;
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
