import { mkdtemp, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { linesOf } from '../../src/commands/decision-log.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-lines-'));
});

async function lines(): Promise<readonly (string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for await (const line of linesOf(join(folder, 'log'))) found.push(line);
  return found;
}

const limit = 2 ** 20;

test.for<[string, string, readonly (string | undefined)[]]>([
  ['nothing', '', []],
  ['a last line without a newline', 'a\nb', ['a', 'b']],
  ['empty lines', '\n\na\n', ['', '', 'a']],
  ['U+2028 within a line', 'a\u2028b\n', ['a\u2028b']],
  ['a character across the chunks of a file', `${'x'.repeat(65_535)}ä\n`, [`${'x'.repeat(65_535)}ä`]],
  ['the longest line', `${'x'.repeat(limit)}\na`, ['x'.repeat(limit), 'a']],
  ['a line of a byte more', `${'x'.repeat(limit + 1)}\na`, [undefined, 'a']],
  ['a line of fewer characters and more bytes', `${'ä'.repeat(limit / 2 + 1)}\na`, [undefined, 'a']],
  ['a long last line', `a\n${'x'.repeat(limit + 1)}`, ['a', undefined]],
])('splits %s', async ([, content, expected]) => {
  await writeFile(join(folder, 'log'), content);
  expect(await lines()).toEqual(expected);
});

test('skips 256 MiB without a newline in the time that reading takes', async () => {
  // Zeros that take no space on the disk.
  await writeFile(join(folder, 'log'), '');
  await truncate(join(folder, 'log'), 256 * limit);
  const begun = performance.now();
  expect(await lines()).toEqual([undefined]);
  // Searching the whole line again with each chunk takes minutes.
  expect(performance.now() - begun).toBeLessThan(30_000);
});
