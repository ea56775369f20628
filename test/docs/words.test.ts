/** The pages for operators stay short enough to be read: what one page says, no other page repeats. */
import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const atMost = 42_000;

/** The words of a page, its code and tables included: what has a letter or a digit. */
function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

test(`README and docs/, without docs/internals/, have at most ${atMost} words`, async () => {
  const counts: [page: string, words: number][] = [];
  for await (const page of glob(['README.md', 'docs/*.md'])) counts.push([page, wordsOf(await readFile(page, 'utf8'))]);
  expect(counts.length).toBeGreaterThan(30);
  const total = counts.reduce((sum, [, words]) => sum + words, 0);
  const longest = counts.toSorted(([, a], [, b]) => b - a).slice(0, 5);
  expect(total, `say it once, with a link; the longest pages: ${longest.join(' ')}`).toBeLessThanOrEqual(atMost);
});
