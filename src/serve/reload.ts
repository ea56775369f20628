import { isDeepStrictEqual } from 'node:util';
import { capabilities } from '../capabilities/all.ts';
import type { RestartKey } from '../core/config/schema.ts';
import type { RestartPlace } from '../capabilities/capability.ts';
import { KeptSecrets } from './config/kept-secrets.ts';
import { load, type Loaded } from './config/load.ts';
import { type Processes, requireShared } from './config/several-processes.ts';
import { ConfigError, problemsOf } from '../core/config/problems.ts';
import { watchFiles } from './config/watch.ts';
import { isObject, ownMember } from '../core/lib/json/own-member.ts';
import type { Config } from '../ports/config.ts';
import type { Running } from './start.ts';

/** The reload of a running gateway. */
export interface Reloading {
  /** Reloads all files, as an edit does. */
  readonly now: () => void;
  close(): void;
}

/** What is reloaded. */
export interface ReloadParts {
  /** When the first files were read, in milliseconds since the epoch. */
  readonly since: number;
  readonly running: Running;
  readonly processes: Processes;
}

/**
 * Follows the files of a configuration. After an edit, the whole configuration is loaded and checked, then replaces the
 * current one. A configuration with a problem changes nothing; the log, the metrics and `/readyz` report it.
 */
export async function reloadOnEdit(
  file: string,
  first: Loaded,
  { since, running, processes }: ReloadParts,
): Promise<Reloading> {
  const startedWith = fixedIn(first.config);
  const secrets = new KeptSecrets(first);
  let inForce = first.config.hash;
  let underWay: Promise<void> | undefined;
  let again = false;

  async function attempt(): Promise<void> {
    const begun = Date.now();
    try {
      const loaded = await load(file, process.env, secrets);
      await watching.follow(loaded.files, begun);
      requireShared(loaded, file, processes);
      await use(loaded);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      await watching.follow([...new Set([...first.files, ...error.files])], begun);
      running.reloadRefused(problemsOf(error));
    }
  }

  async function use(loaded: Loaded): Promise<void> {
    const { config, snapshot } = loaded;
    for (const [key, value] of Object.entries(fixedIn(config))) {
      if (isDeepStrictEqual(value, startedWith[key])) continue;
      running.log.event('warn', `${key} changed: a restart is needed for it, the rest is in force`);
    }
    await running.reload(asAtStart(config, startedWith), snapshot);
    secrets.keep(loaded);
    running.log.event('info', 'configuration reloaded', { config: config.hash, before: inForce });
    inForce = config.hash;
    const stale = secrets.stale();
    if (stale.length > 0) running.secretsKept(stale);
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

interface CorePlace {
  readonly section: keyof Config;
  readonly member?: string;
}

type Place = CorePlace | RestartPlace;

/** The place of each setting that stays as it was at the start: by its key, `x-restart` in the schema. */
export const places: Readonly<Record<string, Place>> = Object.assign(
  {
    listen: { section: 'listen' },
    'admin.listen': { section: 'admin', member: 'listen' },
    tls: { section: 'tls' },
    'front_door.listen': { section: 'frontDoor', member: 'listen' },
    'front_door.keys': { section: 'frontDoor', member: 'keys' },
    'limits.idle': { section: 'limits', member: 'idleMs' },
    'limits.request_headers': { section: 'limits', member: 'requestHeadersBytes' },
    'log.file': { section: 'log', member: 'file' },
    session_key: { section: 'sessionKey' },
  } satisfies Partial<Record<RestartKey, CorePlace>>,
  ...capabilities.map(({ restarts }) => restarts),
);

/** The settings of a configuration that need a restart, by their keys in the file; JSON can carry them. */
export type Fixed = Readonly<Record<string, unknown>>;

/** {@link Fixed} of a configuration. */
export function fixedIn(config: Config): Fixed {
  const entries = Object.entries(places).map(([key, place]) => {
    const section = sectionOf(config, place);
    return [key, place.member === undefined ? section : ownMember(section, place.member)] as const;
  });
  return Object.fromEntries(entries);
}

function sectionOf(config: Config, place: Place): unknown {
  return 'slot' in place ? place.slot.of(config) : config[place.section];
}

/** `config`, with the settings that need a restart as they were at the start. */
export function asAtStart(config: Config, fixed: Fixed): Config {
  const slots = new Map(config.slots);
  const result = { ...config, slots };
  for (const [key, place] of Object.entries(places)) {
    const value = fixed[key];
    if ('slot' in place) {
      const settings = settingsAtStart(config, place, value);
      if (isObject(settings)) slots.set(place.slot, settings);
      else slots.delete(place.slot);
      continue;
    }
    const { section, member } = place;
    const before: unknown = result[section];
    if (member === undefined) Object.assign(result, { [section]: value });
    // The section was absent at the start.
    else if (member === 'listen' && value === undefined) continue;
    else if (isObject(before)) Object.assign(result, { [section]: { ...before, [member]: value } });
  }
  return result;
}

function settingsAtStart(config: Config, { slot, member, others }: RestartPlace, value: unknown): unknown {
  const before = slot.of(config);
  if (member === undefined) return value;
  if (others === undefined) return before && { ...before, [member]: value };
  return value === undefined ? undefined : { ...others, ...before, [member]: value };
}
