import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { Denial } from '../model/denial.ts';
import type { ReplayMemory } from '../model/shared.ts';

/** Bounds memory whatever callers send: some 40 MB when full. */
const MAX_ENTRIES = 200_000;
/** Of which one owner may have so much: a caller who proves without end must not keep others from it. */
const SHARE = 0.1;

/** What one process remembers by itself. */
export interface LocalReplayMemory extends ReplayMemory {
  firstSeen(key: string, expiresAt: number, owner: string): boolean;
}

/**
 * Creates the memory of one process. What lives is never forgotten, since a forgotten key could be used again: a full
 * memory refuses instead.
 */
export function createReplayMemory(clock: Clock, maxEntries = MAX_ENTRIES): LocalReplayMemory {
  /** By digest, so that an entry is small however long a key is. */
  const entries = new Map<string, Entry>();
  const live = new Map<string, number>();
  const maxOwn = Math.max(1, Math.floor(maxEntries * SHARE));
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
      for (const digest of digests) forget(digest, now);
      endings.delete(end);
    }
  }

  function forget(digest: string, now: number): void {
    const entry = entries.get(digest);
    if (entry === undefined || entry.expiresAt > now) return;
    entries.delete(digest);
    const left = (live.get(entry.owner) ?? 1) - 1;
    if (left === 0) live.delete(entry.owner);
    else live.set(entry.owner, left);
  }

  return {
    firstSeen(key, expiresAt, owner) {
      const now = clock();
      sweep(now);
      const digest = hash('sha256', key, 'base64url');
      if ((entries.get(digest)?.expiresAt ?? 0) > now) return false;
      if (expiresAt <= now) return true;
      forget(digest, now);
      const own = live.get(owner) ?? 0;
      if (own >= maxOwn) throw full(`${maxOwn} keys of this owner`);
      if (entries.size >= maxEntries) throw full(`${maxEntries} keys`);
      entries.set(digest, { expiresAt, owner });
      live.set(owner, own + 1);
      const end = Math.ceil(expiresAt / 1000);
      const others = endings.get(end);
      if (others === undefined) endings.set(end, [digest]);
      else others.push(digest);
      return true;
    },
  };
}

interface Entry {
  readonly expiresAt: number;
  readonly owner: string;
}

function full(what: string): Denial {
  return new Denial('shared_store.unavailable', `${what} live already: no more can be remembered`);
}
