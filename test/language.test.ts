/**
 * Keeps phrases out of the text that people read, each of which has to be decoded by its reader. Add a folder to `covered`
 * once its text is clean.
 */
import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

/** Phrase → what to write instead. Spaces match line breaks too; case does not matter. */
const phrases: Readonly<Record<string, string>> = {
  'who(?:m|se)?(?: )?ever': 'the party: the caller, the client, any party that …',
  'nobody|no one': 'the party: no caller, no client, no upstream',
  'somebody|someone|anybody|anyone': 'the party: a caller, any client, an attacker',
  // A value of `by` in a policy stands in quotes, or is a key.
  "everybody|everyone(?![`':])": 'the party: every caller, all clients',
  '(?:is|are|was|were|be|been|being) told': 'the actor and what it does: the gateway sends, the operator sets',
  'go(?:es)? by': 'uses, follows, is decided by',
  'hangs? on': 'depends on',
  'so (?:many|much)': 'the number, the limit, or this number of',
  'as (?:many|much) as there (?:is|are|may be)': 'without a limit',
  'for ever': 'without end, indefinitely',
  shall: 'must, should, or the present tense',
  'it is as if': 'the fact: the gateway ignores it',
};

const covered = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docs/**/*.{md,ts}',
  'schema/*.json',
  'deploy/**/*.*',
  'demo/**/*.ts',
  'policies/*',
  'templates/**/*.*',
  'gateway.yaml',
  'docker-compose.yml',
  'test/{docs,demo,deploy,mutation,fuzz,limits}/*.*',
  '{bench,conformance}/*.{md,ts}',
  'bench/{contenders,load,machine,scenarios,servers}/*.ts',
  'conformance/{clients,fixture}/*.ts',
  'test/fuzz/*/*.{ts,py}',
  '.ci/*',
  'src/**/*.ts',
  'test/{architecture,attacks,authorization-server,authorize,cli,clients,conformance,exchange,faults}/*.{ts,md}',
  'test/{forward-auth,gateway,http,json,lib,mcp,model,pins,policy,respond,route,serve,shared,spec}/*.{ts,md}',
  'test/{admin,support,telemetry,worlds}/*.{ts,md}',
  'test/{architecture,docs,pipeline,pipeline-order}.test.ts',
];

const pattern = new RegExp(
  Object.keys(phrases)
    .map((phrase) => `(\\b(?:${phrase.replaceAll(' ', '[\\s*/#]+')})\\b)`)
    .join('|'),
  'gi',
);
const advice = Object.values(phrases);

/** Each phrase in a text, as `line: "phrase": what to write instead`. */
function found(text: string): readonly string[] {
  return [...text.matchAll(pattern)].map(({ index, 0: phrase, ...groups }) => {
    const which = advice.findIndex((_, position) => groups[position + 1] !== undefined);
    return `${text.slice(0, index).split('\n').length}: "${phrase}": say ${advice[which]}`;
  });
}

test('finds no phrase in covered text', async () => {
  const files: string[] = [];
  for await (const file of glob(covered)) files.push(file);
  expect(files.length).toBeGreaterThan(100);
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const));
  expect(texts.flatMap(([file, text]) => found(text).map((line) => `${file}:${line}`))).toEqual([]);
});

test('finds a phrase across a line break, with its line', () => {
  expect(found('Whoever\nThe caller is\n * TOLD so.')).toEqual([
    '1: "Whoever": say the party: the caller, the client, any party that …',
    '2: "is\n * TOLD": say the actor and what it does: the gateway sends, the operator sets',
  ]);
});
