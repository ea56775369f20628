import { serveMetrics } from '../serve/admin/metrics-listener.ts';
import { parseAddress } from '../core/config/values.ts';
import { load, type Loaded } from '../serve/config/load.ts';
import { watchFiles } from '../serve/config/watch.ts';
import { startFrontDoor } from '../front-door/front-door.ts';
import { KeysFault } from '../front-door/keys.ts';
import { createObserver } from '../front-door/observer.ts';
import { CHILD_VARIABLE } from '../serve/front-door-process.ts';
import { standardOutput } from '../serve/standard-output.ts';
import { leadRequests, openStore, revocations } from '../capabilities/all.ts';
import { listenFault } from '../serve/start.ts';
import type { LogStore } from '../ports/store.ts';
import { OWN_REQUESTS_LED, ownEgress } from '../ports/own-requests.ts';
import type { Listening } from '../core/lib/http/node-http.ts';
import { createJsonLines } from '../core/telemetry/json-lines.ts';
import { Log } from '../core/telemetry/log.ts';
import { type ExitCode, untilSignal, UsageError } from '../capabilities/terminal.ts';
import { messageOf, stackOf } from '../core/lib/wording.ts';

/**
 * `sallyport front-door`: runs the front door alone, for example in a container of its own, until a signal ends it.
 *
 * @param metricsText The address of its metrics and health; undefined: nowhere.
 * @throws {UsageError} for another text.
 */
export async function frontDoor(file: string, metricsText?: string): Promise<ExitCode> {
  if (process.env[CHILD_VARIABLE] !== undefined) {
    return await (await import('../serve/front-door-child.ts')).workAsFrontDoor();
  }
  const metricsAddress = metricsText === undefined ? undefined : parseAddress(metricsText);
  if (metricsText !== undefined && metricsAddress === undefined) {
    throw new UsageError(`--metrics: ${JSON.stringify(metricsText)} is not an address such as 127.0.0.1:9091`);
  }
  const since = Date.now();
  const loaded = await load(file);
  const { config } = loaded;
  const missing = missingIn(loaded);
  if (missing !== undefined) {
    process.stderr.write(`${file}: ${missing}\n`);
    return 1;
  }
  await leadRequests(config);
  const stopped = untilSignal();
  const lines = createJsonLines(standardOutput());
  const log = new Log(config.log, lines);
  const { observer, page } = createObserver(log);
  let metrics: Listening | undefined;
  try {
    metrics = metricsAddress && (await serveMetrics(metricsAddress, page));
    const logStore: LogStore = (...event) => log.event(...event);
    const endsRights = revocations?.settingsOf(config) !== undefined;
    const hasTold = endsRights && config.shared !== undefined;
    const told = hasTold ? await revocations?.follow(config, { log: logStore, openStore }) : undefined;
    if (endsRights && told === undefined)
      log.event('warn', 'a front door alone needs shared to learn of revocations: sessions and refresh tokens stay');
    const running = await startFrontDoor(config, {
      revocations: told?.check,
      observer,
      // The gateway runs elsewhere. Without a shared store it asks again after 30 s at the latest.
      onRevoked() {},
      log: logStore,
      openStore,
      onBug: (error) => log.event('error', 'a bug', { stack: stackOf(error) }),
    });
    const { issuer } = config.frontDoor ?? {};
    log.event('info', 'front door listening', { url: running.url, issuer, metrics: metrics?.url });
    const { proxies } = ownEgress() ?? {};
    if (proxies !== undefined) log.event('info', OWN_REQUESTS_LED, proxies);
    const watching = await watchFiles(loaded.files, () => void reload(), since);
    process.on('SIGHUP', () => void reload());
    await stopped;
    watching.close();
    await running.close();
    await metrics?.close();
    await lines.close();
    process.exit(0);

    async function reload(): Promise<void> {
      try {
        const next = await load(file);
        await leadRequests(next.config);
        if (missingIn(next) === undefined) running.reload(next.config);
        told?.use(next.config);
        log.configure(next.config.log);
        log.event('info', 'configuration reloaded', { config: next.config.hash });
      } catch (error) {
        const problems = messageOf(error);
        log.event('error', 'configuration refused; still running the previous configuration', { problems });
      }
    }
  } catch (error) {
    await metrics?.close();
    process.stderr.write(`${error instanceof KeysFault ? error.message : listenFault(error)}\n`);
    return 1;
  }
}

function missingIn({ config }: Loaded): string | undefined {
  if (config.frontDoor === undefined) return 'has no front_door';
  if (config.sessionKey !== undefined) return undefined;
  return 'a front door alone needs session_key: the gateway authenticates with a secret derived from it';
}
