import { expect, test } from 'vitest';
import { layoutFlaw } from '../../../src/core/config/layout.ts';
import { filesIn } from '../../architecture/source-files.ts';

const valid = ['.', 'policies', 'templates', 'deploy', 'demo', 'test', 'bench'].flatMap((folder) =>
  filesIn(folder, /\.ya?ml$/).filter(({ path }) => !path.includes('/chart/') && !path.includes('/templates/')),
);

test.each<readonly [title: string, text: string]>([
  ...valid.map(({ path, text }) => [path, text] as const),
  ['items with the indentation of their key', 'a:\n- b: 1\n  c: 2\n- d\ne: f\n'],
  ['items of items', 'a:\n  - - b\n    - c: 1\n      d: 2\n  - e\n'],
  ['a text of several lines', 'a: |\n  b: {\n c"\nd: >-\n  [\n\ne: plain\n  and more\n'],
  ['brackets and quotes over several lines', 'a: { b: [1,\n    2], # }\n  c: "x\n  y" }\nd: it\'s [fine\n'],
  ['quoted keys and values with colons', '"a b": \'x: y\'\n\'c\': "\\"d: {"\n?x: http://a:1\n'],
  ['words of a text without quotes', 'a: one\n  two\n  three\nb: 1\n'],
  ['an anchor before a mapping', 'a: &x\n  b: 1\nc: *x\n'],
  ['Windows line breaks', 'a:\r\n  b: 1\r\n  c: 2\r\n'],
  ['nothing', ''],
])('finds no mistake in %s', (_title, text) => {
  expect(layoutFlaw(text)).toBeUndefined();
});

test.each([
  [
    'a key between list items',
    'a:\n  - b\n  c: 1\n',
    'a:\n  - b\n  '.length,
    '"c" is a key between list items; indent it, or begin it with "- "',
  ],
  ['a bracket of the second line', 'a: {\n  b: [1\n  }\nc: 1\n', 'a: {\n  b: '.length, 'this [ is not closed; add ]'],
  [
    'a key between two levels',
    'main:\n  jwt:\n    algorithms: [RS256]\n   introspection:\n     client_id: gateway\n',
    'main:\n  jwt:\n    algorithms: [RS256]\n   '.length,
    '"introspection" is indented by 3 spaces: indent it by 2 like "jwt" above it, or by 4 like "algorithms"',
  ],
  [
    'a key between the items of a list and their key',
    'main:\n  jwt:\n    - RS256\n   introspection: 1\n',
    'main:\n  jwt:\n    - RS256\n   '.length,
    '"introspection" is indented by 3 spaces: indent it by 2 like "jwt" above it',
  ],
  [
    'a name that looks generated',
    'a: 1\n  kN3v9QxZ0pLr7TtYw2Bc5: 1\n',
    'a: 1\n  '.length,
    '"…" is indented by 2 spaces and "a" above it by 0; indent both alike',
  ],
])('finds %s', (_title, text, offset, why) => {
  expect(layoutFlaw(text)).toEqual([offset, why]);
});
