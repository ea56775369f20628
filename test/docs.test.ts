import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { configurationPage } from '../docs/configuration.ts';
import { refusals } from '../src/model/denial.ts';

const page = (name: string): Promise<string> => readFile(new URL(`../docs/${name}`, import.meta.url), 'utf8');

test('docs/configuration.md is what the schemas say (npm run docs)', async () => {
  expect(await page('configuration.md')).toBe(configurationPage());
});

test('docs/reasons.md has a row for each reason, with its status, and no other', async () => {
  const rows = [...(await page('reasons.md')).matchAll(/^\| `([a-z_.]+)` +\| (\d{3}) /gm)];
  expect(rows.map(([, reason, status]) => [reason, Number(status)])).toEqual(
    Object.entries(refusals).map(([reason, { status }]) => [reason, status]),
  );
});
