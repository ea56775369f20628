import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { load, type Loaded } from '../config/load.ts';
import { type ExitCode, reportProblems, UsageError } from './exit.ts';
import { servedText } from './served.ts';
import { type Reloading, reloadOnEdit } from '../serve/reload.ts';
import { listenFault, type Running, start } from '../serve/start.ts';
import { startWorkers } from '../serve/primary.ts';

/** How long requests and streams in progress may take after a signal. */
const graceMs = 10_000;

/**
 * `sallyport serve`: runs the gateway until a signal ends it; a second signal does not wait.
 *
 * @param workersText The number of serving processes, or `auto`.
 * @throws {UsageError} for any other text.
 */
export async function serve(file: string, workersText: string): Promise<ExitCode> {
  const workers = workersOf(workersText);
  if (cluster.isWorker) return await (await import('../serve/worker.ts')).work();
  const since = Date.now();
  let loaded: Loaded;
  try {
    loaded = await load(file);
  } catch (error) {
    return reportProblems(file, error);
  }
  // Before the start, so that a signal during the start is not lost, and SIGHUP does not end the process.
  const stopped = signal();
  let running: Running | undefined;
  let reloading: Reloading | undefined;
  process.on('SIGHUP', () => {
    running?.reopenLog();
    reloading?.now();
  });
  try {
    running = workers === 1 ? await start(loaded.config) : await startWorkers(file, loaded, workers);
  } catch (error) {
    process.stderr.write(`${listenFault(error)}\n`);
    return 1;
  }
  if (process.stderr.isTTY) process.stderr.write(servedText(loaded.config, running));
  reloading = await reloadOnEdit(file, loaded, since, running);
  await stopped;
  reloading.close();
  process.once('SIGTERM', exitNow).once('SIGINT', exitNow);
  await running.close(graceMs);
  // A socket that is still open must not keep the process alive.
  process.exit(0);
}

function workersOf(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^[1-9][0-9]{0,2}$/.test(text)) return Number(text);
  throw new UsageError(`--workers: ${JSON.stringify(text)} is neither a number of processes nor auto`);
}

/** Resolves at the first SIGTERM or SIGINT. */
function signal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.once('SIGTERM', resolve).once('SIGINT', resolve);
  return promise;
}

function exitNow(): never {
  process.exit(1);
}
