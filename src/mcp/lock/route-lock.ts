import { type AnswerLock, type DefinitionGuard, guardedMessage } from '../guarded-message.ts';
import { Denial } from '../../model/denial.ts';
import type { Action } from '../../model/grant.ts';
import type { Lock, Sighting } from '../../model/lock.ts';
import { isLockedKind, listedKinds } from '../../model/mcp.ts';
import type { McpTarget } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';
import type { Comparison } from './comparison.ts';
import { verbOf } from './differences.ts';

/** The lock of a route, as its stages use it. */
export interface RouteLock extends AnswerLock {
  /**
   * Requires that what a call uses is as it was approved.
   *
   * @throws {Denial} `tool.changed`, `prompt.changed`, or `lock.unverified` before the first comparison; nothing under
   *   `report`.
   */
  requireApproved(action: Action): void;
}

/** What a lock reports. */
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
  { mode }: Lock,
  comparison: Comparison,
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

  function requireTarget({ kind, name }: McpTarget): void {
    if (!isLockedKind(kind)) return;
    const verdict = comparison.verdict({ kind, name });
    if (verdict === 'approved') return;
    const rule = 'lock';
    if (verdict === 'unverified') {
      lookSoon();
      const retryAfterSeconds = untilNextMs() / 1000;
      throw new Denial('lock.unverified', 'wanted a comparison with what was approved, found none yet', {
        rule,
        retryAfterSeconds,
      });
    }
    // The server may show what was approved by now. No look changes the verdict on a name that was never approved.
    if (verdict.difference !== 'new') lookSoon();
    const detail = `wanted the ${kind} as it was approved: ${verbOf(verdict)}`;
    throw new Denial(listedKinds[kind].changed, detail, { rule, because: policy?.because({ kind, name }) });
  }

  return {
    mode,
    requireApproved({ attempt }) {
      if (mode === 'report' || attempt.kind !== 'mcp') return;
      for (const target of attempt.targets) requireTarget(target);
    },
    guarded(text, asked) {
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
