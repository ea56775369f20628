import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { PlainError } from './plain-error.ts';

/** The gateway as a process of its own, started as an operator starts it. */
export interface GatewayProcess {
  /** The file with all that it wrote to stdout: its decision log. */
  readonly logFile: string;
  /** From now on, each new line of the log goes to `print` too. */
  follow(print: (line: string) => void): void;
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>;
  /** Tells it to drain and waits until it has; what is left after the drain's time is killed. */
  close(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const startTimeoutMs = 15_000;
/** A little more than the drain of open streams takes. */
const drainTimeoutMs = 12_000;

/**
 * Starts `node src/main.ts serve` with the committed `gateway.yaml` and waits until it is ready.
 *
 * @param adminUrl of its admin listener, where it says that it is ready.
 * @throws {PlainError} when it ends or says nothing in time; what it wrote to stderr is on ours.
 */
export async function startGatewayProcess(adminUrl: string): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').then(() => undefined);
  const logFile = `${root}gateway.log`;
  const log = createWriteStream(logFile);
  child.stdout.pipe(log);
  try {
    await ready(child, adminUrl);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    logFile,
    ended,
    follow(print) {
      createInterface({ input: child.stdout }).on('line', print);
    },
    async close() {
      child.kill('SIGTERM');
      const tooLate = setTimeout(() => child.kill('SIGKILL'), drainTimeoutMs);
      await ended;
      clearTimeout(tooLate);
    },
  };
}

async function ready(child: ChildProcess, adminUrl: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    const response = await fetch(`${adminUrl}/readyz`).catch(() => undefined);
    if (response?.ok) return;
    await sleep(50);
  }
  throw new PlainError(`The gateway did not become ready at ${adminUrl}/readyz`);
}
