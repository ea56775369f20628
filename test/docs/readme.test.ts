import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { attemptOf, callerOf, foundOf, fulfils } from '../../src/analysis/review/described-caller.ts';
import { loaded } from '../serve/config/folder.ts';
import type { PolicyTest } from '../../src/policy-files/policy-tests.ts';
import { blocksIn } from './page.ts';

test('the policy of the README loads, on the route that is shown, and passes the test that is shown', async () => {
  const blocks = blocksIn(await readFile('README.md', 'utf8')).filter(({ language }) => language === 'yaml');
  const [policy, tests, routes] = blocks.map(({ text }) => text);
  expect(blocks).toHaveLength(3);
  const around =
    'public_url: http://a.test\nauthorization_servers: { main: { issuer: http://b.test, jwt: { algorithms: [RS256] } } }\n';
  const files = { 'policies/demo-tools.yaml': policy ?? '' };
  const config = await loaded({ yaml: around + (routes ?? ''), files });
  for (const { given, when, then } of parse(tests ?? '') as readonly PolicyTest[]) {
    const decision = config.policies.get('demo-tools')?.decide(callerOf(given, new Map(), ''), attemptOf(when));
    expect(decision && { found: foundOf(decision), passes: fulfils(decision, then) }).toMatchObject({ passes: true });
  }
});

test('README and docs name only npm scripts that exist', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
  const pages = (await readdir('docs', { recursive: true }))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const texts = await Promise.all(['README.md', 'CONTRIBUTING.md', ...pages].map((file) => readFile(file, 'utf8')));
  const named = texts.flatMap((text) => [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name]) => name));
  expect(new Set(named)).toContain('company-provider');
  expect(named.filter((name) => name === undefined || !(name in scripts))).toEqual([]);
});
