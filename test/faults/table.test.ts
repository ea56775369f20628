import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { wireFaults } from './wire-faults.ts';

test('docs/internals/faults.md has a row for each fault, and each fault a test', async () => {
  const page = await readFile('docs/internals/faults.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([^`]+)` /gm)].map(([, row]) => row);
  const names = (await readdir('test/faults')).filter((name) => name.endsWith('.test.ts'));
  const sources = (await Promise.all(names.map((name) => readFile(`test/faults/${name}`, 'utf8')))).join('\n');
  const alone = [...sources.matchAll(/^test\('([^']+)', patient/gm)].map(([, row]) => row);
  expect(new Set([...alone, ...Object.keys(wireFaults)])).toEqual(new Set(rows));
});
