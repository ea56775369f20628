import { isDeepStrictEqual } from 'node:util';
import { load, type Loaded } from '../config/load.ts';
import { ConfigError, problemsOf } from '../config/problems.ts';
import { watchFiles } from '../config/watch.ts';
import type { Config } from '../model/config.ts';
import type { Running } from './start.ts';

/** The reload of a running gateway. */
export interface Reloading {
  /** Reloads all files, as an edit does. */
  readonly now: () => void;
  close(): void;
}

/**
 * Follows the files of a configuration. After an edit, the whole configuration is loaded and checked, then replaces the
 * current one. A configuration with a problem changes nothing; the log, the metrics and `/readyz` report it.
 */
export async function reloadOnEdit(file: string, first: Loaded, since: number, running: Running): Promise<Reloading> {
  const startedWith = first.config;
  let inForce = first.config.hash;
  let underWay: Promise<void> | undefined;
  let again = false;

  async function attempt(): Promise<void> {
    const begun = Date.now();
    try {
      const loaded = await load(file);
      await watching.follow(loaded.files, begun);
      use(loaded);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      await watching.follow([...new Set([...first.files, ...error.files])], begun);
      running.reloadRefused(problemsOf(error));
    }
  }

  function use({ config, snapshot }: Loaded): void {
    for (const [name, part] of Object.entries(needsRestart)) {
      if (isDeepStrictEqual(part(config), part(startedWith))) continue;
      running.log.event('warn', `${name} changed: a restart is needed for it, the rest is in force`);
    }
    running.reload(config, snapshot);
    running.log.event('info', 'configuration reloaded', { config: config.hash, before: inForce });
    inForce = config.hash;
  }

  /** Reloads one at a time. Edits during a reload cause one more. */
  function now(): void {
    if (underWay !== undefined) {
      again = true;
      return;
    }
    underWay = attempt()
      .catch((error: unknown) => running.reloadRefused(problemsOf(error)))
      .finally(() => {
        underWay = undefined;
        if (!again) return;
        again = false;
        now();
      });
  }

  const watching = await watchFiles(first.files, now, since);
  return { now, close: () => watching.close() };
}

/** The settings that are fixed once a process listens, by their keys in the file. */
export const needsRestart: Readonly<Record<string, (config: Config) => unknown>> = {
  listen: ({ listen }) => listen,
  'admin.listen': ({ admin }) => admin?.listen,
  'forward_auth.listen': ({ forwardAuth }) => forwardAuth?.listen,
  'front_door.listen': ({ frontDoor }) => frontDoor?.listen,
  'front_door.keys': ({ frontDoor }) => frontDoor?.keys,
  tls: ({ tls }) => tls,
  telemetry: ({ telemetry }) => telemetry,
  'log.file': ({ log }) => log.file,
  'limits.request_headers': ({ limits }) => limits.requestHeadersBytes,
};

/** The parts of a configuration that hold fixed settings, as JSON can carry them. */
export type Fixed = ReturnType<typeof fixedIn>;

/** {@link Fixed} of a configuration. */
export function fixedIn({ listen, forwardAuth, tls, telemetry, limits, log }: Config) {
  return { listen, forwardAuth, tls, telemetry, limits, logFile: log.file };
}

/** `config`, with the settings that need a restart as they were at the start. */
export function asAtStart(config: Config, { listen, forwardAuth, tls, telemetry, limits, logFile }: Fixed): Config {
  return {
    ...config,
    listen,
    forwardAuth: forwardAuth && { trusted: [], ...config.forwardAuth, listen: forwardAuth.listen },
    tls,
    telemetry,
    log: { ...config.log, file: logFile },
    limits: { ...config.limits, requestHeadersBytes: limits.requestHeadersBytes },
  };
}
