import cluster from 'node:cluster';
import { load, type Loaded } from '../config/load.ts';
import { type ExitCode, reportProblems } from './exit.ts';
import { reloadOnEdit } from '../serve/reload.ts';
import { listenFault, type Running, start } from '../serve/start.ts';
import { startWorkers } from '../serve/primary.ts';

/** What open streams get when the gateway is told to stop. */
const graceMs = 10_000;

/** What `sallyport serve` was asked for. */
export interface ServeOptions {
  readonly file: string;
  /** How many processes serve. */
  readonly workers: number;
}

/** `sallyport serve`: runs the gateway until a signal ends it; a second signal does not wait. */
export async function serve({ file, workers }: ServeOptions): Promise<ExitCode> {
  if (cluster.isWorker) return await (await import('../serve/worker.ts')).work();
  const since = Date.now();
  let loaded: Loaded;
  try {
    loaded = await load(file);
  } catch (error) {
    return reportProblems(file, error);
  }
  // From the first moment: whoever starts it may stop it before it is quite up.
  const told = signal();
  let running: Running;
  try {
    running = workers === 1 ? await start(loaded.config) : await startWorkers(file, loaded, workers);
  } catch (error) {
    process.stderr.write(`${listenFault(error)}\n`);
    return 1;
  }
  const reloading = await reloadOnEdit(file, loaded, since, running);
  process.on('SIGHUP', reloading.now);
  await told;
  reloading.close();
  process.once('SIGTERM', exitNow).once('SIGINT', exitNow);
  await running.close(graceMs);
  // A socket that somebody forgot must not keep the process.
  process.exit(0);
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
