import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quotedWord, shellWord } from '../../src/commands/shell-words.ts';

test.for(['https://h/mcp', "a'b;c", '$HOME `id`', '', 'a\nb', '-n'])('%j stays one word of a shell', (text) => {
  for (const word of [quotedWord(text), shellWord(text)]) {
    expect(execFileSync('sh', ['-c', `printf %s. ${word}`], { encoding: 'utf8' })).toBe(`${text}.`);
  }
});

test('a word is quoted only where a shell would read it otherwise', () => {
  expect(shellWord('https://h/mcp')).toBe('https://h/mcp');
  expect(shellWord("a'b;c")).toBe(String.raw`'a'\''b;c'`);
});
