import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../bin/sallyport.js', import.meta.url));

/** Whether there is `script` of util-linux, which opens a pseudo-terminal. */
export const hasTerminal = ((): boolean => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    process.stderr.write('skipped: there is no script of util-linux\n');
    return false;
  }
})();

/** `sallyport` on a terminal of its own. */
export interface OnTerminal {
  /** What it has written to the terminal, by stdout and stderr. */
  readonly text: () => string;
  /** Resolves as soon as what it has written matches. */
  says(pattern: RegExp): Promise<void>;
  /** Presses Ctrl-C. */
  interrupt(): void;
  readonly ended: Promise<number>;
}

/** Starts `sallyport ARGS` on a terminal of 100 columns. */
export function startOnTerminal(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): OnTerminal {
  const words = [process.execPath, main, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  const child = spawn('script', ['-qec', `stty cols 100; exec ${words.join(' ')}`, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (written += chunk));
  const text = (): string => written.replaceAll('\r\n', '\n');
  const ended = once(child, 'close').then(([code]) => code as number);
  return {
    text,
    async says(pattern) {
      while (!pattern.test(text())) {
        const isOver = await Promise.race([once(child.stdout, 'data').then(() => false), ended.then(() => true)]);
        if (isOver) throw new Error(`ended without saying ${String(pattern)}: ${text()}`);
      }
    },
    interrupt: () => void child.stdin.write('\u0003'),
    ended,
  };
}
