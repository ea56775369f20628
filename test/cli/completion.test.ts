import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { completionScripts } from '../../src/cli/completion.ts';
import { outcome } from './run.ts';

const run = promisify(execFile);
const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

function isInstalled(shell: Shell): boolean {
  try {
    execFileSync(shell, ['-c', 'exit']);
    return true;
  } catch {
    process.stderr.write(`skipped: ${shell} is not installed\n`);
    return false;
  }
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-completion-'));
  await writeFile(join(folder, 'decisions.jsonl'), '');
  await writeFile(join(folder, 'gateway.yaml'), '');
  for (const shell of shells) await writeFile(join(folder, `.${shell}`), completionScripts[shell](commands));
});

/** What each shell offers for a command line whose last word is unfinished. */
const offered: Readonly<Record<Shell, (line: string) => Promise<readonly string[]>>> = {
  async bash(line) {
    // As readline calls it: the words, which it also splits at equals signs.
    const words = line.split(/ |(?==)|(?<==)/).map((word) => `'${word}'`);
    const script = `source .bash; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
      $(complete -p sallyport | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf(await run('bash', ['--norc', '-c', script], { cwd: folder }));
  },
  async zsh(line) {
    // A pseudo-terminal with a real line editor: completion widgets work nowhere else. It may not complete while more
    // input is pending.
    const script = `zmodload zsh/zpty; zpty shell zsh -f -i
      zpty -w shell 'PS1= PS2= RPS1=; autoload -U compinit; compinit -u -D; source ./.zsh; zstyle ":completion:*" list-grouped false'
      zpty -w shell 'compadd() { builtin compadd -O offered "$@"; print -rl -- "<"$^offered">" >> offered.zsh; builtin compadd "$@" }'
      zpty -w shell 'setopt no_beep; print ready'
      zpty -r shell seen '*ready*ready*'
      zpty -n -w shell '${line.replaceAll("'", '')}'$'\\t'
      repeat 600; do [[ -e offered.zsh ]] && break; sleep 0.05; done
      zpty -n -w shell $'\\x15print done\\n'
      zpty -r shell seen '*done*done*'`;
    await run('zsh', ['-f', '-c', script], { cwd: folder });
    const { stdout } = await run('cat', ['offered.zsh'], { cwd: folder });
    await rm(join(folder, 'offered.zsh'));
    // It offers a path twice: as a match of its beginning, and as a path.
    return [...new Set([...stdout.matchAll(/<(.+)>/g)].map(([, word = '']) => word))];
  },
  async fish(line) {
    const script = `source .fish; complete -C '${line}'`;
    return linesOf(await run('fish', ['--no-config', '-c', script], { cwd: folder })).map(
      (each) => each.split('\t')[0] ?? '',
    );
  },
};

function linesOf({ stdout }: { readonly stdout: string }): readonly string[] {
  return stdout.split('\n').filter((line) => line !== '');
}

describe.for(shells.filter(isInstalled))('%s', { timeout: 60_000 }, (shell) => {
  test.for([
    ['sallyport exp', ['explain']],
    ['sallyport serve --work', ['--workers']],
    ['sallyport schema policy-', ['policy-lock', 'policy-test']],
    ['sallyport completion z', ['zsh']],
    ['sallyport help rep', ['replay']],
    ['sallyport replay dec', ['decisions.jsonl']],
    ['sallyport check --config gat', ['gateway.yaml']],
    ['sallyport check -c gat', ['gateway.yaml']],
    ['sallyport explain --route gat', []],
  ] as const)('%s', async ([line, words]) => {
    expect((await offered[shell](line)).toSorted()).toEqual(words);
  });
});

test('bash completes a path after an equals sign', async () => {
  expect(await offered.bash('sallyport check --config=gat')).toEqual(['gateway.yaml']);
  expect(await offered.bash('sallyport check --config=')).toEqual(expect.arrayContaining(['gateway.yaml']));
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
