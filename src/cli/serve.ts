import { loadConfig } from '../config/load.ts';
import type { Config } from '../model/config.ts';
import type { ExitCode } from './exit-code.ts';
import { reportProblems } from './report-problems.ts';
import type { Running } from './start.ts';

/** What open streams get when the gateway is told to stop. */
const graceMs = 10_000;

/** `sallyport serve`: runs the gateway until a signal ends it; a second signal does not wait. */
export async function serve(file: string): Promise<ExitCode> {
  let config: Config;
  try {
    config = await loadConfig(file);
  } catch (error) {
    return reportProblems(file, error);
  }
  // `check` and `schema` start without the whole gateway.
  const { start } = await import('./start.ts');
  let running: Running;
  try {
    running = await start(config);
  } catch (error) {
    process.stderr.write(`${listenFault(error)}\n`);
    return 1;
  }
  await signal();
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

/** Why the gateway cannot listen, in one line. Rethrows anything else: a bug. */
function listenFault(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if ('hostname' in error) return `${String(error.hostname)} is not a host that is known here (${String(error.code)})`;
  if (!('port' in error)) throw error;
  const host = 'address' in error ? String(error.address) : '';
  const place = `${host.includes(':') ? `[${host}]` : host}:${String(error.port)}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${place} is in use: stop what listens there, or change listen or admin in the configuration`;
    case 'EACCES':
      return `${place} is not ours to listen on: a port under 1024 needs a privilege`;
    case 'EADDRNOTAVAIL':
      return `${place} is not an address of this machine`;
    default:
      throw error;
  }
}
