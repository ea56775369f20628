/**
 * The locks of the routes of this process, `docs/locked-tools.md`: what passes and what the gateway itself is shown is
 * compared with what was approved.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import type { Lock, LockState, Sighting } from '../../model/lock.ts';
import { type Route, serverUrl } from '../../model/route.ts';
import { createComparison } from './comparison.ts';
import { createRouteLock, type RouteLock } from './route-lock.ts';
import { createWatch, type Watch, type WatchParts } from './watch.ts';

/** The locks of all routes. */
export interface LockedRoutes {
  /** The lock of a route of a configuration that is being built; undefined if its policy has none. */
  of(route: Route): RouteLock | undefined;
  /** Looks at the servers of these routes soon and from then on, and ends for all others. */
  use(routes: readonly Route[]): void;
  /** Takes note of what another process saw. */
  adopt(route: string, sightings: readonly Sighting[]): void;
  /** What each route's server has shown, for a process that begins. */
  seen(): readonly (readonly [route: string, sightings: readonly Sighting[]])[];
  states(): readonly LockState[];
  close(): void;
}

/** Creates the locks of a process. */
export function createLockedRoutes(watchParts: WatchParts): LockedRoutes {
  const { share, observer } = watchParts;
  let watches: ReadonlyMap<string, Watch> = new Map();
  /** Those of the configuration that was built last. */
  const built = new Map<string, Watch>();

  function watchOf({ name, upstream }: Route, lock: Lock): Watch {
    const url = serverUrl(upstream);
    const known = watches.get(name);
    if (known?.url !== url)
      return createWatch(name, { url, lock, comparison: createComparison(lock.approved) }, watchParts);
    if (isDeepStrictEqual(known.lock, lock)) return known;
    // What the server showed is compared with the new lock at once: no call has to wait for the next look.
    return createWatch(name, { url, lock, comparison: known.comparison.with(lock.approved) }, watchParts);
  }

  /** A request or a stream may still use the lock of an earlier configuration; what it saw counts for the newest. */
  function passed(name: string, watch: Watch, sightings: readonly Sighting[]): void {
    share(name, sightings);
    const newest = watches.get(name);
    if (newest?.url !== watch.url) return;
    newest.comparison.adopt(sightings);
    newest.report(sightings);
  }

  return {
    of(route) {
      const { name, lock } = route;
      built.delete(name);
      if (lock === undefined) return undefined;
      const watch = watchOf(route, lock);
      built.set(name, watch);
      return createRouteLock(route, lock, watch.comparison, {
        noted: (sightings) => passed(name, watch, sightings),
        lookSoon: () => watches.get(name)?.soon(),
        unreadable: (detail) =>
          observer.event('warn', 'an answer cannot be compared with the lock', { route: name, detail }),
        untilNextMs: watch.untilNextMs,
      });
    },
    use(routes) {
      const before = watches;
      watches = new Map([...built].filter(([name]) => routes.some((route) => route.name === name)));
      for (const [name, watch] of before) {
        if (watches.get(name) !== watch) watch.close();
        if (!watches.has(name)) observer.differing(name, undefined);
      }
      for (const [name, watch] of watches) {
        if (before.get(name) === watch) watch.soon();
        else watch.begin();
      }
    },
    adopt(name, sightings) {
      const watch = watches.get(name);
      if (watch === undefined) return;
      const noted = watch.comparison.adopt(sightings);
      if (noted.length > 0) watch.report(noted);
    },
    seen: () => Array.from(watches, ([name, { comparison }]) => [name, comparison.sightings()] as const),
    states: () => [...watches.values()].map((watch) => watch.state()),
    close() {
      for (const watch of watches.values()) watch.close();
    },
  };
}
