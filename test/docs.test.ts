import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { configurationPage } from '../docs/configuration.ts';
import { refusals } from '../src/model/denial.ts';
import { layers } from './architecture/rules.ts';

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

test('docs/architecture.md has the layers of src/ in their order', async () => {
  const [, rule = ''] = /^- Imports go one way(.*?)No cycles/ms.exec(await page('architecture.md')) ?? [];
  const told = rule.split('←').flatMap((layer) => [...layer.matchAll(/`([\w-]+)`/g)].map(([, name]) => name));
  const stages = layers.find((layer) => layer.includes('listen')) ?? [];
  const named = layers.flat().filter((name) => !stages.includes(name) || told.includes(name));
  // In brackets: what the pipeline alone knows.
  expect(told.toSpliced(told.lastIndexOf('model'), 1)).toEqual(named.map((name) => name.replace(/\.ts$/, '')));
});
