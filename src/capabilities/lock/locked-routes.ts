/**
 * The locks of the routes of this process, `docs/locked-tools.md`: what passes and what the gateway itself is shown is
 * compared with what was approved.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import { definitionKey, type DefinitionKind, type LockState } from '../../mcp/definitions.ts';
import { type Lock, lockOf } from './settings.ts';
import { type Sighting, LockComparison, verbOf } from './comparison.ts';
import type { Route } from '../../core/model/route.ts';
import { questionHeaders, serverUrl } from '../../ports/upstream-questions.ts';
import { reasons } from './reasons.ts';
import { StrictCalls } from './strict-calls.ts';
import { createWatch, type Watch, type WatchParts } from './watch.ts';
import { type DefinitionGuard, guardedMessage } from '../../mcp/guarded-message.ts';
import { listedFromStart } from '../../mcp/lists.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Action } from '../../core/model/grant.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import { isLockedKind } from '../../core/model/mcp.ts';
import type { McpTarget } from '../../core/model/policy.ts';

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
  /** The watches of the configuration that was built last. */
  const built = new Map<string, Watch>();

  /** What is kept of other servers is that of the configuration that was built last. */
  function strictOf({ name }: Route, { isStrict }: Lock): StrictCalls | undefined {
    if (isStrict !== true) return undefined;
    return new StrictCalls(() => {
      const sum = { schemas: 0, bytes: 0 };
      for (const [other, { comparison }] of built) {
        if (other === name) continue;
        sum.schemas += comparison.strict?.kept.schemas ?? 0;
        sum.bytes += comparison.strict?.kept.bytes ?? 0;
      }
      return sum;
    });
  }

  function watchOf(route: Route, lock: Lock): Watch {
    const { name, upstream } = route;
    const asked = { url: serverUrl(upstream), headers: questionHeaders(upstream) };
    const known = watches.get(name);
    if (known?.url !== asked.url)
      return createWatch(
        name,
        { ...asked, lock, comparison: new LockComparison(lock.approved, strictOf(route, lock)) },
        watchParts,
      );
    const asksAlike = isDeepStrictEqual([...known.headers], [...asked.headers]);
    if (asksAlike && isDeepStrictEqual(known.lock, lock)) return known;
    // What the server showed is compared with the new lock at once: no call has to wait for the next look.
    const comparison = known.comparison.with(lock.approved, strictOf(route, lock));
    return createWatch(name, { ...asked, lock, comparison }, watchParts);
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
      const { name } = route;
      const lock = lockOf.of(route);
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
      const names = new Set(routes.map(({ name }) => name));
      for (const name of built.keys()) if (!names.has(name)) built.delete(name);
      watches = new Map(built);
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

/** The lock of a route, as its stages use it. */
export interface RouteLock {
  readonly mode: Lock['mode'];
  /** Whether arguments are judged, `calls: strict`. */
  readonly isStrict: boolean;
  /** Whether the result of a call is judged by an output schema. */
  judges(action: Action): boolean;
  /**
   * Requires that what a call uses is as it was approved.
   *
   * @throws {Denial} `tool.changed`, `prompt.changed`, or `lock.unverified` before the first comparison; nothing under
   *   `report`.
   */
  requireApproved(action: Action): void;
  /**
   * The text of a message of the server without what was not approved; undefined where it stays as it is, always so
   * under `report`.
   *
   * @param asked As {@link guardedMessage}.
   * @param action What is answered, with `calls: strict`.
   * @throws as {@link guardedMessage} and {@link StrictCalls.requireResults}, only under `deny`.
   */
  guarded(text: string, asked?: DefinitionKind, action?: Action): string | undefined;
}

/** The parts of a lock on a route. */
export interface RouteLockParts {
  /** A message showed what no earlier one did. */
  readonly noted: (sightings: readonly Sighting[]) => void;
  /** Makes the gateway look soon, and not in the path of a call. */
  readonly lookSoon: () => void;
  /** Under `report`, a message could not be compared. */
  readonly unreadable: (detail: string) => void;
  /** How long it is until the gateway looks again. */
  readonly untilNextMs: () => number;
}

/** Creates the lock of a route. */
export function createRouteLock(
  { policy }: Route,
  { mode, approved }: Lock,
  comparison: LockComparison,
  { noted, lookSoon, unreadable, untilNextMs }: RouteLockParts,
): RouteLock {
  const guard: DefinitionGuard = {
    announced: lookSoon,
    examine(shown, whole) {
      const sightings = comparison.pass(
        shown.filter((each) => each !== undefined),
        whole,
      );
      if (sightings.length > 0) noted(sightings);
      return shown.map((each) => each !== undefined && comparison.verdict(each) === 'approved');
    },
  };

  const isLocked = (name: string): boolean => approved.has(definitionKey({ kind: 'tool', name }));

  function unverified(inner?: string): Denial {
    lookSoon();
    return new Denial(reasons['lock.unverified'], 'wanted a comparison with what was approved, found none yet', {
      rule: 'lock',
      retryAfterSeconds: untilNextMs() / 1000,
      tool: inner,
    });
  }

  /** @param inner The name of a tool that the call calls; undefined: the target is that of the call itself. */
  function requireTarget({ kind, name }: McpTarget, inner?: string): void {
    if (!isLockedKind(kind)) return;
    const verdict = inner === undefined ? comparison.verdict({ kind, name }) : comparison.innerVerdict(inner);
    if (verdict === 'approved') return;
    const rule = 'lock';
    if (verdict === 'unverified') throw unverified(inner);
    // The server may show what was approved by now. No look changes the verdict on a name that was never approved.
    if (verdict.difference !== 'new') lookSoon();
    const detail = `wanted the ${kind} as it was approved: ${verbOf(verdict)}`;
    const because = policy?.because({ kind, name });
    throw new Denial(reasons[`${kind}.changed`], detail, { rule, because, tool: inner });
  }

  return {
    mode,
    isStrict: comparison.strict !== undefined,
    judges: (action) => comparison.strict?.judges(action) === true,
    requireApproved({ attempt }) {
      if (mode === 'report' || attempt.kind !== 'mcp') return;
      for (const target of attempt.targets) requireTarget(target);
      for (const { targets } of policy?.innerCalls(attempt) ?? [])
        for (const target of targets) requireTarget(target, target.name);
      const unseen = comparison.strict?.requireValid(attempt, policy, isLocked);
      if (unseen !== undefined) throw unverified(unseen.isInner ? unseen.tool : undefined);
    },
    guarded(text, asked, action) {
      const { strict } = comparison;
      if (mode === 'deny' && strict !== undefined && action !== undefined)
        return guardedMessage(text, { ...guard, judge: (messages) => strict.requireResults(messages, action) }, asked);
      if (mode === 'deny') return guardedMessage(text, guard, asked);
      try {
        guardedMessage(text, guard, asked);
      } catch (error) {
        // A text that is no JSON holds no definition for any client.
        if (error instanceof Denial) unreadable(error.detail);
        else if (!(error instanceof SyntaxError)) throw error;
      }
      return undefined;
    },
  };
}

/** What a lock does on its route. */
export function onLockedRoute(lock: RouteLock): OnRoute {
  return {
    // All arguments are judged: none may have a variant that another parser would take.
    ...(lock.isStrict && { readsArguments: true }),
    gate: {
      enter: (_call, { action }) => lock.requireApproved(action),
      reconsider: ({ action }) => lock.requireApproved(action),
    },
    answers: {
      does: lock.mode === 'deny' ? 'guards' : 'reads',
      take: (text, action) => lock.guarded(text, listedFromStart(action), action),
      ...(lock.isStrict && { judges: (action) => lock.judges(action) }),
    },
  };
}
