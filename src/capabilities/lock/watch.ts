import type { Clock, Timers } from '../../core/lib/clock.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import type { Definition, LockState } from '../../mcp/definitions.ts';
import type { Lock } from './settings.ts';
import { type Sighting, inWords, type LockComparison } from './comparison.ts';
import { createBackOff, type Random } from '../../core/lib/back-off.ts';

/** The watch over what one server shows, under one lock. It outlives a configuration that changes neither. */
export interface Watch extends Omit<Lookout, 'start'> {
  readonly url: string;
  /** The header fields of the questions. */
  readonly headers: Headers;
  readonly lock: Lock;
  readonly comparison: LockComparison;
  /** The configuration is in force: reports what differs, and begins to look at the server. */
  begin(): void;
  /** Counts and logs what differs now, after these sightings. */
  report(sightings: readonly Sighting[]): void;
  state(): LockState;
}

/** Observes the locks of routes. */
interface LockObserver {
  /** How many definitions of the route differ from its lock; undefined: it has no lock any more. */
  differing(route: string, count: number | undefined): void;
  event(level: 'info' | 'warn', msg: string, fields: Readonly<Record<string, unknown>>): void;
}

/** The dependencies of {@link createWatch}. */
export interface WatchParts extends LookoutParts {
  /** Asks the server at `url` for its definitions, with the gateway's own header fields, and without any caller. */
  readonly look: (url: string, signal: AbortSignal, headers: Headers) => Promise<readonly Definition[]>;
  /** Tells other processes what this one saw. */
  readonly share: (route: string, sightings: readonly Sighting[]) => void;
  readonly observer: LockObserver;
  readonly clock: Clock;
}

/** How many differences a line of the log and the console name. */
const MAX_NAMED = 20;

/** Creates the watch of a route. */
export function createWatch(
  route: string,
  watched: Pick<Watch, 'url' | 'headers' | 'lock' | 'comparison'>,
  { look, share, observer, clock, ...lookoutParts }: WatchParts,
): Watch {
  const { url, headers, lock, comparison } = watched;
  const { mode } = lock;
  const lookout = createLookout(compare, lookoutParts);
  /** When the gateway last looked with success, in milliseconds since the epoch. */
  let comparedAt: number | undefined;
  /** Why the last look failed; undefined if it succeeded. */
  let fault: string | undefined;
  let differed = false;

  async function compare(signal: AbortSignal): Promise<void> {
    try {
      comparison.beginLook();
      const shown = await look(url, signal, headers);
      if (signal.aborted) return;
      const noted = comparison.look(shown);
      if (comparedAt === undefined || fault !== undefined)
        observer.event('info', 'definitions are compared', { route, count: shown.length });
      comparedAt = clock();
      fault = undefined;
      if (noted.length === 0) return;
      share(route, noted);
      report(noted);
    } catch (error) {
      if (signal.aborted) return;
      const reason = reasonOf(error);
      // An outage is logged once.
      if (fault === undefined) observer.event('warn', 'definitions cannot be compared', { route, reason });
      fault = reason;
      throw error;
    }
  }

  function report(sightings: readonly Sighting[]): void {
    const differing = comparison.differing();
    const count = differing.length;
    const forgotten = sightings.flatMap(({ definition: { kind, name }, isGone }) =>
      isGone ? [inWords({ kind, name, difference: 'gone', members: [] })] : [],
    );
    const gone = forgotten.length === 0 ? {} : { gone: forgotten.slice(0, MAX_NAMED) };
    observer.differing(route, count);
    if (count > 0) {
      const differences = differing.slice(0, MAX_NAMED).map(inWords);
      observer.event('warn', 'definitions differ from the lock', { route, mode, count, differences, ...gone });
    } else if (differed) observer.event('info', 'definitions are as approved again', { route, ...gone });
    differed = count > 0;
  }

  return {
    ...watched,
    begin() {
      report([]);
      lookout.start();
    },
    report,
    soon: lookout.soon,
    untilNextMs: lookout.untilNextMs,
    state() {
      const differing = comparison.differing();
      return { route, mode, comparedAt, fault, count: differing.length, differing: differing.slice(0, MAX_NAMED) };
    },
    close: lookout.close,
  };
}

/** Looks at a server again and again. */
export interface Lookout {
  readonly start: () => void;
  /** Looks soon: the server announced a change, or may have returned to what was approved. */
  readonly soon: () => void;
  /** How long it is until the next look, in milliseconds; 0 before the first and during each. */
  readonly untilNextMs: () => number;
  readonly close: () => void;
}

interface LookoutParts {
  readonly timers: Timers;
  readonly random: Random;
}

/** The time between looks that succeed. */
const EVERY_MS = 5 * 60_000;
/** The shortest time between the beginnings of two looks, however often {@link Lookout.soon} is called. */
const GAP_MS = 5_000;
/** The first pause after a look that fails; it doubles up to {@link EVERY_MS}. */
const RETRY_MS = 1_000;

/**
 * Looks at its start, then every five minutes, sooner after a failure or when asked to. Never looks twice at the same
 * time.
 *
 * @param look Ends early when the signal is aborted; rejects if the look fails.
 */
export function createLookout(look: (signal: AbortSignal) => Promise<void>, { timers, random }: LookoutParts): Lookout {
  const stop = new AbortController();
  const backOff = createBackOff(RETRY_MS, EVERY_MS, random);
  let begunAt = timers.now();
  /** The next look; undefined before the start and during a look. */
  let next: { readonly dueAt: number; readonly cancel: () => void } | undefined;
  let isAsked = false;

  async function run(): Promise<void> {
    next = undefined;
    begunAt = timers.now();
    const pauseMs = await look(stop.signal).then(succeeded, backOff.next);
    if (stop.signal.aborted) return;
    schedule(isAsked ? Math.min(pauseMs, untilAllowedMs()) : pauseMs);
    isAsked = false;
  }

  function succeeded(): number {
    backOff.reset();
    return EVERY_MS;
  }

  function schedule(pauseMs: number): void {
    next?.cancel();
    next = { dueAt: timers.now() + pauseMs, cancel: timers.after(pauseMs, () => void run()) };
  }

  function untilAllowedMs(): number {
    return Math.max(0, begunAt + GAP_MS - timers.now());
  }

  function untilNextMs(): number {
    return next === undefined ? 0 : Math.max(0, next.dueAt - timers.now());
  }

  return {
    start: () => schedule(0),
    soon() {
      if (next === undefined) isAsked = true;
      else schedule(Math.min(untilNextMs(), untilAllowedMs()));
    },
    untilNextMs,
    close() {
      next?.cancel();
      stop.abort(new Error('the gateway no longer needs it'));
    },
  };
}
