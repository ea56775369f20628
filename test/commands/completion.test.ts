import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { commands } from '../../src/commands/commands.ts';
import { completionScripts } from '../../src/commands/completion.ts';
import { outcome } from './run.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-completion-'));
  for (const file of ['decisions.jsonl', 'gateway.yaml']) await writeFile(join(folder, file), '');
  await writeFile(join(folder, '.bash'), completionScripts.bash(commands));
});

/** What bash offers for a command line whose last word is unfinished. */
async function offered(line: string): Promise<readonly string[]> {
  // As readline calls it: the words, which it also splits at equals signs.
  const words = line.split(/ |(?==)|(?<==)/).map((word) => `'${word}'`);
  const script = `source .bash; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
    $(complete -p sallyport | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { cwd: folder });
  return stdout.split('\n').filter((each) => each !== '');
}

test.for([
  ['sallyport exp', ['explain']],
  ['sallyport serve --work', ['--workers']],
  ['sallyport schema policy-', ['policy-lock', 'policy-test']],
  ['sallyport completion z', ['zsh']],
  ['sallyport help rep', ['replay']],
  ['sallyport replay dec', ['decisions.jsonl']],
  ['sallyport check --config gat', ['gateway.yaml']],
  ['sallyport check -c gat', ['gateway.yaml']],
  ['sallyport check --config=gat', ['gateway.yaml']],
  ['sallyport explain --route gat', []],
] as const)('bash completes %s', async ([line, words]) => {
  expect((await offered(line)).toSorted()).toEqual(words);
});

test.for(shells)('%s: the command prints a script that names every command and option', async (shell) => {
  const { code, stdout, stderr } = await outcome(['completion', shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const [name, { options }] of Object.entries(commands)) {
    expect(stdout).toContain(name);
    for (const option of Object.keys(options))
      expect(stdout).toContain(shell === 'fish' ? `-l ${option} ` : `--${option}`);
  }
});

test('the table has only words that need no quotes in a shell', () => {
  const rows = Object.values(commands);
  const options = rows.flatMap((row) => Object.entries(row.options));
  const words = [
    ...Object.keys(commands),
    ...rows.flatMap(({ argument }) => argument?.oneOf ?? []),
    ...options.flatMap(([long, { short = 'x' }]) => [long, short]),
    ...options.flatMap(([, { oneOf }]) => oneOf ?? []),
  ];
  expect(words.filter((word) => !/^[a-z][a-z-]*$/.test(word))).toEqual([]);
});
