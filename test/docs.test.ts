import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { configurationPage } from '../docs/configuration.ts';
import { refusals } from '../src/capabilities/all.ts';
import { layers } from './architecture/rules.ts';

const page = (name: string): Promise<string> => readFile(new URL(`../docs/${name}`, import.meta.url), 'utf8');

test('docs/configuration.md is what the schemas say (npm run docs)', async () => {
  expect(await page('configuration.md')).toBe(configurationPage());
});

test('docs/reasons.md has an item for each reason, with its status, and no other', async () => {
  const rows = [...(await page('reasons.md')).matchAll(/^- `([a-z_.]+)` (\d{3}): /gm)];
  expect(rows.map(([, reason, status]) => `${reason} ${status}`).toSorted()).toEqual(
    Object.values(refusals)
      .map(({ reason, status }) => `${reason} ${status}`)
      .toSorted(),
  );
});

test('docs/internals/architecture.md has a row for each folder of src/, and draws each part in its layer', async () => {
  const text = await page('internals/architecture.md');
  const parts = await readdir(new URL('../src/', import.meta.url));
  const rows = [...text.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell = '']) => cell.match(/[\w-]+(?=\/)/g) ?? []);
  expect(rows.toSorted()).toEqual(parts.filter((part) => !part.endsWith('.ts')).toSorted());
  const [, drawing = ''] = /^```\n( main\.ts.*?)^```/ms.exec(text) ?? [];
  const drawn = drawing.split('\n').flatMap((line) => line.slice(0, 50).match(/[a-z][\w./-]*/g) ?? []);
  expect(drawn).toEqual(layers.toReversed().flat());
});
