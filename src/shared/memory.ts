import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { Denial } from '../model/denial.ts';
import type { ReplayMemory } from '../model/shared.ts';

/** Bounds memory whatever callers send: some 15 MB when full. */
const MAX_ENTRIES = 100_000;

/** What one process remembers by itself. */
export interface LocalReplayMemory extends ReplayMemory {
  firstSeen(key: string, expiresAt: number): boolean;
}

/**
 * Creates the memory of one process. What lives is never forgotten, since a forgotten key could be used again: a full
 * memory refuses instead.
 */
export function createReplayMemory(clock: Clock, maxEntries = MAX_ENTRIES): LocalReplayMemory {
  /** Of a digest, so that an entry is small however long a key is → when it ends. */
  const entries = new Map<string, number>();
  /** The second in which entries have ended → their digests: what has ended goes without looking at what has not. */
  const endings = new Map<number, string[]>();
  let sweptAt = 0;

  function sweep(now: number): void {
    const second = Math.floor(now / 1000);
    if (second === sweptAt) return;
    sweptAt = second;
    for (const [end, digests] of endings) {
      if (end > second) continue;
      // Remembered anew meanwhile, it stands in a later second as well.
      for (const digest of digests) if ((entries.get(digest) ?? Infinity) <= now) entries.delete(digest);
      endings.delete(end);
    }
  }

  return {
    firstSeen(key, expiresAt) {
      const now = clock();
      sweep(now);
      const digest = hash('sha256', key, 'base64url');
      const known = entries.get(digest);
      if (known !== undefined && known > now) return false;
      if (expiresAt <= now) return true;
      if (known === undefined && entries.size >= maxEntries) {
        throw new Denial('shared_store.unavailable', `${maxEntries} keys live already: no more can be remembered`);
      }
      entries.set(digest, expiresAt);
      const end = Math.ceil(expiresAt / 1000);
      const others = endings.get(end);
      if (others === undefined) endings.set(end, [digest]);
      else others.push(digest);
      return true;
    },
  };
}
