/**
 * Each requirement of `docs/internals/requirements.md` has a test, and each test of `test/spec` a requirement. A title is
 * `R-17, R-18, RFC 9068 §4: words`: the numbers, then the sections of standards that the test is about.
 *
 * @module
 */

import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { filesIn, type SourceFile } from '../architecture/source-files.ts';
import { requirements, requirementsOf } from './requirements.ts';

const self = 'test/spec/requirements.test.ts';
const files = ['src', 'test', 'demo', 'docs', 'deploy', 'bench']
  .flatMap((folder) => filesIn(folder, /\.(?:ts|md|ya?ml)$/))
  .filter(({ path }) => path !== self && path !== 'docs/internals/requirements.md');
const tests = files.filter(({ path }) => path.startsWith('test/') && path.endsWith('.test.ts'));
const specs = tests.filter(({ path }) => path.startsWith('test/spec/'));

const citation = String.raw`(?:R-\d+|(?:RFC \d+|Trace Context) §[\d.]+)`;
/** What a title begins with, up to the colon. */
const beginning = new RegExp(`['"\`](${citation}(?:, ${citation})*): `, 'g');

/** The citations of each title of a file; rows of a table may be titles too. */
function titlesIn(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(beginning)].map(([, cited = '']) => cited.split(', '));
}

function numbersIn(text: string): readonly string[] {
  return text.match(/\bR-\d+\b/g) ?? [];
}

/** The parties that are ours. */
const own = new Set(['gateway', 'front door']);
const live = requirements.filter(({ isStruck }) => !isStruck);
const titled = new Set(tests.flatMap(({ text }) => titlesIn(text).flat()));
/** What the parties of the demo do stands in the tests of the demo, and in the steps of its walk. */
const shown = new Set([...titled, ...filesIn('demo/walk').flatMap(({ text }) => numbersIn(text))]);

test('a title is found wherever it stands, a page read as it is written', () => {
  const text = "test('R-1, RFC 6750 §3.1: x', …); test.for(rows)(`R-2: %s`, …); test('R-3 is no citation', …);";
  expect(titlesIn(text)).toEqual([['R-1', 'RFC 6750 §3.1'], ['R-2']]);
  const page = `# Page

- **R-1** The gateway
  is (quite) open. (RFC 1 §2;
  specification §3, §4)
- ~~**R-2** The API of the demo sings. (RFC 2)~~
`;
  expect(requirementsOf(page)).toEqual([
    { id: 'R-1', party: 'gateway', sources: ['RFC 1 §2', 'specification §3, §4'], isStruck: false },
    { id: 'R-2', party: 'API of the demo', sources: ['RFC 2'], isStruck: true },
  ]);
  expect(() => requirementsOf('\n- **R-1** Unknown. (RFC 1)')).toThrow('this is no requirement');
});

test('each number stands once, and none is missing: a requirement is struck through, never removed', () => {
  const ids = requirements.map(({ id }) => Number(id.slice(2)));
  expect(new Set(ids).size).toBe(ids.length);
  const missing = Array.from({ length: Math.max(...ids) }, (_, i) => i + 1).filter((id) => !ids.includes(id));
  expect(missing).toEqual([]);
});

test('each requirement of the gateway has a test', () => {
  const missing = live.filter(({ id, party }) => own.has(party) && !titled.has(id));
  expect(missing.map(({ id }) => id)).toEqual([]);
});

test('each requirement of another party is shown by the demo or its tests', () => {
  const missing = live.filter(({ id, party }) => !own.has(party) && !shown.has(id));
  expect(missing.map(({ id }) => id)).toEqual([]);
});

test('each number that is cited anywhere is a requirement that still holds', () => {
  const known = new Set(live.map(({ id }) => id));
  const unknown = ({ path, text }: SourceFile): readonly string[] =>
    numbersIn(text)
      .filter((id) => !known.has(id))
      .map((id) => `${path}: ${id}`);
  expect(files.flatMap(unknown)).toEqual([]);
});

test('each test of test/spec begins with a requirement, and none is skipped', () => {
  const untitled = specs.flatMap(({ path, text }) =>
    [...text.matchAll(/\btest(?:\.for\b[^]*?\))?\(\s*['`](.*)/g)]
      .filter(([, title = '']) => !/^R-\d+.*?: /.test(title))
      .map(([, title]) => `${path}: ${title}`),
  );
  expect(untitled).toEqual([]);
  const skipped = [
    ...specs.filter(({ text }) => /\b(?:test|describe)\.(?:skip|todo|only)/.test(text)),
    ...tests.filter(({ text }) => /\.(?:skip|todo|fails)\(\s*['"`]R-\d/.test(text)),
  ];
  expect(skipped.map(({ path }) => path)).toEqual([]);
});

test('each page that a requirement links is there', () => {
  const pages = new Set(files.map(({ path }) => path));
  const linked = live.flatMap(({ sources }) => sources.flatMap((source) => /\]\((.+)\)/.exec(source)?.[1] ?? []));
  expect(linked.filter((page) => !pages.has(posix.join('docs/internals', page.replace(/#.*/, ''))))).toEqual([]);
});

test('each section of a standard in a title of test/spec is a source of a requirement beside it', () => {
  const sources = new Map(requirements.map((requirement) => [requirement.id, requirement.sources]));
  const stray = specs.flatMap(({ path, text }) =>
    titlesIn(text).flatMap((cited) => {
      const found = new Set(cited.flatMap((id) => sources.get(id) ?? []));
      return cited
        .filter((id) => !id.startsWith('R-') && !found.has(id))
        .map((id) => `${path}: ${cited.join(', ')}: ${id}`);
    }),
  );
  expect(stray).toEqual([]);
});
