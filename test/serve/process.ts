import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { printed } from '../support/secrecy.ts';

const main = fileURLToPath(new URL('../../bin/sallyport.js', import.meta.url));

/** `sallyport` as a process of its own. */
export interface Sallyport {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  signal(name: 'SIGTERM' | 'SIGINT'): void;
  /** Resolves with the first match in what it writes to stdout. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with its exit code; null when a signal killed it. */
  readonly ended: Promise<number | null>;
}

/** What else is different. */
interface Start {
  /** What is run by Node; default: the sources. */
  readonly program?: string;
  /** Added to the environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** What it reads from stdin; default: nothing. */
  readonly stdin?: string;
}

/** A test that fails or times out in the middle leaves no process behind. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGTERM');
});

/** Starts `node bin/sallyport.js ARGS`. */
export function sallyport(args: readonly string[], cwd = process.cwd(), start: Start = {}): Sallyport {
  const { program = main, env, stdin } = start;
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command that reads no stdin may end first.
  child.stdin.on('error', () => {}).end(stdin);
  running.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child);
    printed(`the output of ${args[0]}`, stdout + stderr);
    return code as number | null;
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (name) => void child.kill(name),
    async says(pattern) {
      for (;;) {
        const match = pattern.exec(stdout);
        if (match !== null) return match;
        const over = await Promise.race([once(child.stdout, 'data').then(() => false), ended.then(() => true)]);
        if (over) throw new Error(`ended without saying ${String(pattern)}: ${stdout}${stderr}`);
      }
    },
    ended,
  };
}

/** What a command writes and ends with. */
export async function outcome(args: readonly string[], cwd?: string, start?: Start) {
  const running = sallyport(args, cwd, start);
  const code = await running.ended;
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}
