import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { GATEWAY_SECRET_VARIABLE } from '../ports/front-door.ts';
import { load } from '../serve/config/load.ts';
import { type Processes, requireShared } from '../serve/config/several-processes.ts';
import { type ExitCode, untilSignal } from '../capabilities/terminal.ts';
import type { FrontDoorProcess } from '../serve/front-door-process.ts';
import { type Reloading, reloadOnEdit } from '../serve/reload.ts';
import { listenFault, type Running, start } from '../serve/start.ts';
import { ownEgress } from '../ports/own-requests.ts';
import { printable } from '../core/lib/wording.ts';
import type { Config } from '../ports/config.ts';
import { metadataUrl } from '../core/gateway/respond/resource-metadata.ts';

/** How long requests and streams in progress may take after a signal. */
const graceMs = 10_000;

/**
 * V8 sees that what open streams hold lives long. It would then allocate the same objects of every later request among
 * the old ones, where each keeps its whole request until the next full collection: beside 300 streams the heap grew by
 * 7 KB a request, and a small collection took 30 to 200 ms in place of 2.
 */
const YOUNG_REQUESTS = '--no-allocation-site-pretenuring';

/**
 * `sallyport serve`: runs the gateway until a signal ends it; a second signal does not wait.
 *
 * @throws {ConfigError} for a configuration that cannot be used, or not by several processes.
 */
export async function serve(file: string, processes: Processes): Promise<ExitCode> {
  setFlagsFromString(YOUNG_REQUESTS);
  const { workers, withoutFrontDoor } = processes;
  // Inherited by the workers and by the front door, which all load the configuration.
  process.env[GATEWAY_SECRET_VARIABLE] ??= randomBytes(32).toString('hex');
  if (cluster.isWorker) return await (await import('../serve/workers/worker.ts')).work();
  const since = Date.now();
  const loaded = await load(file);
  requireShared(loaded, file, processes);
  // Before the start, so that a signal during the start is not lost, and SIGHUP does not end the process.
  const stopped = untilSignal();
  let running: Running | undefined;
  let reloading: Reloading | undefined;
  process.on('SIGHUP', () => {
    running?.reopenLog();
    reloading?.now();
  });
  let frontDoor: FrontDoorProcess | undefined;
  try {
    if (loaded.config.frontDoor !== undefined && !withoutFrontDoor) {
      frontDoor = await (await import('../serve/front-door-process.ts')).startFrontDoorProcess(file, loaded);
    }
    const moreMetrics = frontDoor?.metrics;
    const gateway =
      workers === 1
        ? await start(loaded.config, { moreMetrics })
        : await (await import('../serve/workers/primary.ts')).startWorkers(file, loaded, workers, moreMetrics);
    running = frontDoor?.attach(gateway) ?? gateway;
  } catch (error) {
    process.stderr.write(`${listenFault(error)}\n`);
    await frontDoor?.close();
    return 1;
  }
  if (process.stderr.isTTY) process.stderr.write(servedText(loaded.config, running));
  reloading = await reloadOnEdit(file, loaded, { since, running, processes });
  await stopped;
  reloading.close();
  process.once('SIGTERM', exitNow).once('SIGINT', exitNow);
  await running.close(graceMs);
  // A socket that is still open must not keep the process alive.
  process.exit(0);
}

function exitNow(): never {
  process.exit(1);
}

/** The most routes that are listed; a longer list pushes the rest out of sight. */
const SHOWN = 20;

function servedText(config: Config, { url, adminUrl, listeners }: Running): string {
  const { publicUrl, routes, log } = config;
  const shown = routes.slice(0, SHOWN);
  const nameWidth = Math.max(...shown.map(({ name }) => name.length));
  const urlWidth = Math.max(...shown.map(({ path }) => `${publicUrl}${path}`.length));
  const rows = [
    ['listens on', url],
    ...shown.map(({ name, path, policy, public: isPublic }) => [
      'route',
      `${name.padEnd(nameWidth)}  ${`${publicUrl}${path}`.padEnd(urlWidth)}  ${accessOf(isPublic, policy?.name)}`,
    ]),
    ...(routes.length > SHOWN ? [['', `… and ${routes.length - SHOWN} more`]] : []),
    ...shown.map((route) => ['metadata', metadataUrl(route, publicUrl)]),
    ...listeners.map((each) => [each.title, each.url]),
    ['console', adminUrl && `${adminUrl}/`],
    ['metrics', adminUrl && `${adminUrl}/metrics`],
    ['proxy', Object.values(ownEgress()?.proxies ?? {}).find((proxy) => proxy !== undefined)],
    ['decisions', log.file === undefined ? 'stdout' : `stdout, ${log.file}`],
  ];
  const given = rows.filter(([, value]) => value !== undefined);
  return given.map(([label = '', value = '']) => `  ${label.padEnd(11)}  ${printable(value)}\n`).join('');
}

function accessOf(isPublic: boolean, policy: string | undefined): string {
  if (isPublic) return 'public';
  return policy === undefined ? 'any valid token' : `policy ${policy}`;
}
