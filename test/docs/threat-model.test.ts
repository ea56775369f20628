import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const page = await readFile(new URL('docs/internals/threat-model.md', root), 'utf8');
const named = [...page.matchAll(/(?:src|test|docs)\/[\w./-]+\.\w+/g)].map(([file]) => file);

test('each file that docs/internals/threat-model.md names is there', () => {
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
});

test('each file of attacks is named there', async () => {
  const attacks = (await readdir(new URL('test/attacks/', root))).filter((file) => file.endsWith('.test.ts'));
  expect(attacks.map((file) => `test/attacks/${file}`).filter((file) => !named.includes(file))).toEqual([]);
});

test('each row has a defence, a source and a test', () => {
  const rows =
    page.slice(page.indexOf('## HTTP'), page.indexOf('## Secrets')).match(/^\| (?!Class|Threat|-).*$/gm) ?? [];
  expect(rows.length).toBeGreaterThan(12);
  for (const row of rows) expect(row).toMatch(/^\| [^|]+ \| [^|]+ \| [^|]*src\/[^|]+ \| [^|]*test\/[^|]+ \|$/);
});
