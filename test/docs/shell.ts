import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A shell that a reader types into. */
export interface Shell {
  /** Runs lines, and gives what they wrote. What goes on in the background writes into whatever is shown then. */
  type(lines: string): Promise<string>;
  /** Resolves as soon as what was written since the last {@link Shell.type} matches. */
  shows(pattern: RegExp): Promise<void>;
  /** What was written since then. */
  shown(): string;
  close(): Promise<void>;
}

const over = /@@ over @@\n/;

/** Starts bash in `cwd`; everything that it starts ends with it. */
export function openShell(cwd: string, env: NodeJS.ProcessEnv): Shell {
  // A group of its own, so that what was left in the background can be ended by it.
  const bash = spawn('bash', ['--norc', '-s'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  let shown = '';
  for (const stream of [bash.stdout, bash.stderr]) stream.setEncoding('utf8').on('data', (text: string) => add(text));
  const ended = once(bash, 'exit');
  let changed = Promise.withResolvers<void>();

  function add(text: string): void {
    shown += text;
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function shows(pattern: RegExp): Promise<void> {
    while (!pattern.test(shown)) await changed.promise;
  }

  const text = (): string => shown.replace(over, '').replaceAll('\r', '');

  return {
    shows,
    shown: text,
    async type(lines) {
      shown = '';
      bash.stdin.write(`${lines}\necho '@@ over @@'\n`);
      await shows(over);
      return text();
    },
    async close() {
      bash.stdin.end();
      try {
        if (bash.pid !== undefined) process.kill(-bash.pid, 'SIGTERM');
      } catch {
        // No process is left.
      }
      await ended;
    },
  };
}
