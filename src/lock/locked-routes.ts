/**
 * The locks of the routes of this process, `docs/locked-tools.md`: what passes and what the gateway itself is shown is
 * compared with what was approved.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/error-reason.ts';
import type { Definition, Lock, LockState, Sighting } from '../model/lock.ts';
import type { LockObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';
import { type Comparison, createComparison } from './comparison.ts';
import { inWords } from './differences.ts';
import { createLookout, type Lookout } from './lookout.ts';
import { createRouteLock, type RouteLock } from './route-lock.ts';

/** The dependencies of {@link createLockedRoutes}. */
export interface LockedRoutesParts {
  /** Asks the server at `url` for its definitions, as a caller without credentials. */
  readonly look: (url: string, signal: AbortSignal) => Promise<readonly Definition[]>;
  /** Tells other processes what passed here. */
  readonly share: (route: string, sightings: readonly Sighting[]) => void;
  readonly observer: LockObserver;
  readonly clock: Clock;
}

/** The locks of all routes. */
export interface LockedRoutes {
  /** The lock of a route of a configuration that is being built; undefined if its policy has none. */
  of(route: Route): RouteLock | undefined;
  /** Begins to look at the servers of these routes, and ends for all others. */
  use(routes: readonly Route[]): void;
  /** Takes note of what passed in another process. */
  adopt(route: string, sightings: readonly Sighting[]): void;
  states(): readonly LockState[];
  close(): void;
}

/** The lock of one route. It outlives a configuration in which neither the lock nor the server changes. */
interface Watch {
  readonly url: string;
  readonly lock: Lock;
  readonly comparison: Comparison;
  /** Undefined until the configuration is in force. */
  lookout: Lookout | undefined;
  /** When the gateway last looked with success, in milliseconds since the epoch. */
  comparedAt: number | undefined;
  /** Why the last look failed; undefined if it succeeded. */
  fault: string | undefined;
  /** Whether any definition differed when it was last reported. */
  differed: boolean;
}

/** How many differences a line of the log and the console name. */
const MAX_NAMED = 20;

/** Creates the locks of a process. */
export function createLockedRoutes({ look, share, observer, clock }: LockedRoutesParts): LockedRoutes {
  let watches = new Map<string, Watch>();
  /** Those of the configuration that is being built. */
  const built = new Map<string, Watch>();

  function watchOf(route: Route, lock: Lock): Watch {
    const url = route.upstream.origin + (route.upstream.path || '/');
    const known = watches.get(route.name);
    if (known?.url === url && isDeepStrictEqual(known.lock, lock)) return known;
    // What the server showed is compared with the new lock at once: no call has to wait for the next look.
    const comparison = known?.url === url ? known.comparison.with(lock.approved) : createComparison(lock.approved);
    return { url, lock, comparison, lookout: undefined, comparedAt: undefined, fault: undefined, differed: false };
  }

  function begin(name: string, watch: Watch): void {
    report(name, watch);
    watch.lookout ??= createLookout(async (signal) => {
      try {
        const shown = await look(watch.url, signal);
        if (signal.aborted) return;
        const noted = watch.comparison.look(shown);
        if (watch.comparedAt === undefined || watch.fault !== undefined)
          observer.event('info', 'definitions are compared', { route: name, count: shown.length });
        watch.comparedAt = clock();
        watch.fault = undefined;
        if (noted.length > 0) report(name, watch);
      } catch (error) {
        if (signal.aborted) return;
        const reason = reasonOf(error);
        // An outage is logged once.
        if (watch.fault === undefined)
          observer.event('warn', 'definitions cannot be compared', { route: name, reason });
        watch.fault = reason;
        throw error;
      }
    });
  }

  /** A request or a stream may still use the lock of an earlier configuration; what it saw counts for the newest. */
  function passed(name: string, watch: Watch, sightings: readonly Sighting[]): void {
    share(name, sightings);
    const newest = watches.get(name);
    if (newest?.url !== watch.url) return;
    if (newest !== watch) newest.comparison.adopt(sightings);
    report(name, newest);
  }

  function report(route: string, watch: Watch): void {
    const differing = watch.comparison.differing();
    const count = differing.length;
    observer.differing(route, count);
    if (count > 0) {
      const { mode } = watch.lock;
      const differences = differing.slice(0, MAX_NAMED).map(inWords);
      observer.event('warn', 'definitions differ from the lock', { route, mode, count, differences });
    } else if (watch.differed) observer.event('info', 'definitions are as approved again', { route });
    watch.differed = count > 0;
  }

  return {
    of(route) {
      built.delete(route.name);
      if (route.lock === undefined) return undefined;
      const watch = watchOf(route, route.lock);
      built.set(route.name, watch);
      return createRouteLock(route, watch.lock, watch.comparison, {
        noted: (sightings) => passed(route.name, watch, sightings),
        announced: () => watch.lookout?.soon(),
        unreadable(detail) {
          observer.event('warn', 'an answer cannot be compared with the lock', { route: route.name, detail });
        },
        untilNextMs: () => watch.lookout?.untilNextMs() ?? 0,
      });
    },
    use(routes) {
      const before = watches;
      watches = new Map(
        routes.flatMap(({ name }) => {
          const watch = built.get(name);
          return watch === undefined ? [] : [[name, watch] as const];
        }),
      );
      built.clear();
      for (const [name, watch] of before) {
        if (watches.get(name) !== watch) watch.lookout?.close();
        if (!watches.has(name)) observer.differing(name, undefined);
      }
      for (const [name, watch] of watches) if (before.get(name) !== watch) begin(name, watch);
    },
    adopt(name, sightings) {
      const watch = watches.get(name);
      if (watch !== undefined && watch.comparison.adopt(sightings).length > 0) report(name, watch);
    },
    states: () =>
      [...watches].map(
        ([
          route,
          {
            lock: { mode },
            comparison,
            comparedAt,
            fault,
          },
        ]) => {
          const differing = comparison.differing();
          return { route, mode, comparedAt, fault, count: differing.length, differing: differing.slice(0, MAX_NAMED) };
        },
      ),
    close() {
      for (const { lookout } of watches.values()) lookout?.close();
    },
  };
}
