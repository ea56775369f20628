import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { scenarios } from '../../bench/scenarios/all.ts';

test('bench/README.md has a row for each scenario, and no other', async () => {
  const text = await readFile(new URL('../../bench/README.md', import.meta.url), 'utf8');
  const [, rows = ''] = /^\| scenario .*\n\|.*\n((?:\|.*\n)+)/m.exec(text) ?? [];
  expect([...rows.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name)).toEqual(scenarios.map(({ name }) => name));
});
