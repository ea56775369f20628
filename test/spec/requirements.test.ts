/**
 * What is claimed is tested, and what is tested is claimed. Titles are `id, id — words`.
 *
 * @module
 */

import { expect, test } from 'vitest';
import { filesIn } from '../architecture/source-files.ts';
import { requirements } from './requirements.ts';

const files = filesIn('test/spec', /\.test\.ts$/).filter(({ path }) => !path.endsWith('/requirements.test.ts'));

/** Ids in the titles of a file: string literals that begin with one, up to the dash. */
function titledIds(text: string): readonly string[] {
  const titles = text.matchAll(/['`]((?:contract |RFC \d+ |Trace Context )?§[^'`\n]*?) — /g);
  return [...titles].flatMap(([, ids]) => (ids ?? '').split(', '));
}

const tested = new Set(files.flatMap(({ text }) => titledIds(text)));
const gateway = requirements.filter(({ by }) => by === 'gateway');

test('titles are found', () => {
  const text = `test('§5.5.2, §2.8/Audience — x', …); test.for(rows)(\`RFC 6750 §3.1 — %s\`, …); test('contract §5/body — x');`;
  expect(titledIds(text)).toEqual(['§5.5.2', '§2.8/Audience', 'RFC 6750 §3.1', 'contract §5/body']);
});

test('each claim has one id, of one word after the section', () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  expect(ids.filter((id) => !/^(?:contract |RFC \d+ |Trace Context )?§\S+$/.test(id))).toEqual([]);
});

test('each claim of the gateway has a test', () => {
  expect(gateway.filter(({ id }) => !tested.has(id)).map(({ id, text }) => `${id}: ${text}`)).toEqual([]);
});

test('each test shows a claim of the gateway', () => {
  const known = new Set(gateway.map(({ id }) => id));
  expect([...tested].filter((id) => !known.has(id))).toEqual([]);
});

test('no test is without an id, and none is skipped', () => {
  const untitled = files.flatMap(({ path, text }) =>
    [...text.matchAll(/\btest(?:\.(\w+))?\(\s*(['`])(?!(?:contract |RFC \d+ |Trace Context )?§)(.*)/g)]
      .filter(([, kind]) => kind !== 'for')
      .map(([, , , title]) => `${path}: ${title}`),
  );
  expect(untitled).toEqual([]);
  expect(
    files.filter(({ text }) => /\b(?:test|describe)\.(?:skip|todo|only)/.test(text)).map(({ path }) => path),
  ).toEqual([]);
});

test('each claim of another party is shown where it says', () => {
  const missing = requirements.filter(({ by, shown }) => {
    if (by === 'gateway' || by === 'nobody') return shown !== undefined;
    const [path = '', words = ''] = shown ?? [];
    return (
      words === '' ||
      filesIn(path.split('/').slice(0, -1).join('/'))
        .find((file) => file.path === path)
        ?.text.includes(words) !== true
    );
  });
  expect(missing.map(({ id, shown }) => `${id}: ${shown?.join(': ') ?? 'nowhere'}`)).toEqual([]);
});
