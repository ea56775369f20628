import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PlainError } from './plain-error.ts';

/** The gateway as a separate process, started as an operator would start it. */
export interface GatewayProcess {
  /** Its origin, as it listens. */
  readonly url: string;
  /** The file with its stdout: the decision log. */
  readonly logFile: string;
  /** Passes each new line of the log to `print`. */
  follow(print: (line: string) => void): void;
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Drains the gateway and waits for its end. Kills it if the drain takes longer than `drainMs`. */
  close(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Starts `node bin/sallyport.js serve` and waits until it listens.
 *
 * @param configFile Its path, from the root of the repository.
 * @param drainMs Default: a little longer than the drain of open streams.
 * @throws {PlainError} if it ends before. Its stderr is the stderr of this process.
 */
export async function startGatewayProcess(
  configFile: string,
  logFile: string,
  drainMs = 12_000,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['bin/sallyport.js', 'serve', '--config', configFile], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(() => undefined);
  child.stdout.pipe(createWriteStream(logFile));
  const lines = createInterface({ input: child.stdout });
  const { promise: url, resolve, reject } = Promise.withResolvers<string>();
  lines.on('line', function find(line) {
    const { msg, url: at } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== 'listening') return;
    lines.off('line', find);
    resolve(at);
  });
  child.once('exit', () => reject(new PlainError('The gateway ended before it listened')));
  return {
    url: await url,
    logFile,
    ended,
    follow: (print) => void lines.on('line', print),
    async close() {
      child.kill('SIGTERM');
      const tooLate = setTimeout(() => child.kill('SIGKILL'), drainMs);
      await ended;
      clearTimeout(tooLate);
    },
  };
}
