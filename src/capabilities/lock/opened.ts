import { processTimers } from '../../core/lib/clock.ts';
import type { Definition, LockState } from '../../mcp/definitions.ts';
import type { Sighting } from './comparison.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import { createLockedRoutes, type LockedRoutes, onLockedRoute } from './locked-routes.ts';
import { lockOf } from './settings.ts';

/** What this process saw on a route, as processes tell each other. */
type News = readonly [route: string, sightings: readonly Sighting[]];

/** The members of the state of a process. */
export interface LockStates {
  readonly locks: readonly LockState[];
}

/** The locks of a process. */
export function openLocks({ clock, log, meters, share }: ProcessParts): InProcess {
  let locks: LockedRoutes | undefined;

  function made(): LockedRoutes {
    return createLockedRoutes({
      look: lookAt,
      share: (...news: News) => share(news),
      observer: {
        differing: (route, count) => meters.set('sallyport_locked_definitions_changed', count, route),
        event: log,
      },
      clock,
      timers: processTimers,
      random: Math.random,
    });
  }

  return {
    open: () => ({
      of(route) {
        if (lockOf.of(route) !== undefined) locks ??= made();
        const lock = locks?.of(route);
        return lock === undefined ? {} : onLockedRoute(lock);
      },
      start: (routes) => locks?.use(routes),
    }),
    adopt: (news) => locks?.adopt(...(news as News)),
    news: () => locks?.seen() ?? [],
    state: (): LockStates => ({ locks: locks?.states() ?? [] }),
    close: () => locks?.close(),
  };
}

/** Loads the client only for a lock: most gateways never are a client of an MCP server. */
async function lookAt(url: string, signal: AbortSignal, headers: Headers): Promise<readonly Definition[]> {
  const { listDefinitions } = await import('../../mcp/client/ask-server.ts');
  return listDefinitions(url, { signal, headers });
}
