import type { Entry } from './entry.ts';
import { type Pattern, patternTable } from './pattern-table.ts';

/** Whether a careless reader would take `name`, which the pattern of `found` covers, for a name that another entry decides. */
export type IsMistakable = (name: string, found: Entry) => boolean;

/**
 * Compiles a second table of the entries, by their names as `fold` leaves them. A name that a pattern covers only as it is
 * spelled would reach past the entry of its plain spelling at a server that folds names: `get_SECRET` under `get_*` beside
 * an exact `get_secret`.
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
    // By name, not by entry: of two that fold alike each decides what is spelled like it.
    return (exact(folded) ?? matching(folded))?.name !== names.get(found.rule);
  };
}
