/** The one of several words that is a slip of the finger or two away from what was written. */
export function didYouMean(written: string, words: readonly string[]): string | undefined {
  // A short word is two slips away from too many.
  const limit = Math.min(2, Math.floor(written.length / 3));
  const near = words.map((word) => ({ word, slips: slips(written, word) })).filter(({ slips }) => slips <= limit);
  return near.toSorted((a, b) => a.slips - b.slips)[0]?.word;
}

/** Insertions, deletions, replacements and swaps of neighbours: optimal string alignment. */
function slips(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= from.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = swap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped));
    }
  }
  return at(from.length, to.length);
}
