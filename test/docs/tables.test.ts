/** The tables of pages are those of `src/core/model`. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { tables, withTable } from '../../docs/tables.ts';

/** Without what a formatter aligns. */
const unaligned = (text: string): string => text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---');

test.each(Object.keys(tables))('docs/%s has its table (npm run docs)', async (name) => {
  const page = await readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  expect(unaligned(page)).toBe(unaligned(withTable(page, name)));
});
