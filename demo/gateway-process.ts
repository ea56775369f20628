import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { PlainError } from './plain-error.ts';

/** The gateway as a separate process, started as an operator would start it. */
export interface GatewayProcess {
  /** The file with its stdout: the decision log. */
  readonly logFile: string;
  /** Passes each new line of the log to `print`. */
  follow(print: (line: string) => void): void;
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Drains the gateway and waits for its end. Kills it if the drain takes too long. */
  close(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const startTimeoutMs = 15_000;
/** A little longer than the drain of open streams. */
const drainTimeoutMs = 12_000;

/**
 * Starts `node bin/sallyport.js serve` with a committed configuration and waits until it is ready.
 *
 * @param configFile Its path in the repository.
 * @param adminUrl of its admin listener, which reports that it is ready.
 * @throws {PlainError} if it ends or is not ready in time. Its stderr is the stderr of this process.
 */
export async function startGatewayProcess(configFile: string, adminUrl: string): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['bin/sallyport.js', 'serve', '--config', configFile], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
