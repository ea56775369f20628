import { hash } from 'node:crypto';
import type { Clock } from '../core/lib/clock.ts';
import { OwnerCounts } from '../core/lib/fair-share.ts';
import { ensure } from '../core/lib/remembered.ts';
import { Denial } from '../core/model/denial.ts';
import type { LocalReplayMemory } from '../ports/shared.ts';

/** Bounds memory; about 30 MB when full. */
const MAX_ENTRIES = 500_000;
/** The fraction of the entries that one owner may have, so that no caller can fill the cache. */
const SHARE = 0.1;
/** The length of a digest: an attacker cannot find a second key with the same 128 bits. */
const DIGEST_BYTES = 16;

/**
 * Creates the replay cache of one process. It never evicts a key before its expiry, since an evicted key could be used
 * again: a full cache refuses instead. A key is kept to the end of the second in which it expires.
 */
export function createReplayMemory(clock: Clock, maxEntries = MAX_ENTRIES): LocalReplayMemory {
  /** Digests, so that an entry is small however long a key is. */
  const live = new Set<string>();
  const owned = new OwnerCounts();
  const maxOwn = Math.max(1, Math.floor(maxEntries * SHARE));
  /** The second in which digests expire → their owner → the digests. The sweep reads only expired digests. */
  const endings = new Map<number, Map<string, string[]>>();
  let sweptAt = 0;

  function sweep(now: number): void {
    const second = Math.floor(now / 1000);
    if (second === sweptAt) return;
    sweptAt = second;
    for (const [end, owners] of endings) {
      if (end > second) continue;
      for (const [owner, digests] of owners) forget(owner, digests);
      endings.delete(end);
    }
  }

  function forget(owner: string, digests: readonly string[]): void {
    for (const digest of digests) live.delete(digest);
    owned.add(owner, -digests.length);
  }

  function endWith(second: number, owner: string, digest: string): void {
    const owners = ensure(endings, second, () => new Map<string, string[]>());
    const others = owners.get(owner);
    if (others === undefined) owners.set(owner, [digest]);
    else others.push(digest);
  }

  return {
    firstSeen(key, expiresAt, owner) {
      const now = clock();
      sweep(now);
      const digest = hash('sha256', key, 'buffer').toString('latin1', 0, DIGEST_BYTES);
      if (live.has(digest)) return false;
      if (expiresAt <= now) return true;
      if (owned.of(owner) >= maxOwn) throw full(`${maxOwn} keys of this owner`);
      if (live.size >= maxEntries) throw full(`${maxEntries} keys`);
      live.add(digest);
      owned.add(owner, 1);
      endWith(Math.ceil(expiresAt / 1000), owner, digest);
      return true;
    },
  };
}

function full(what: string): Denial {
  return new Denial('shared_store.unavailable', `${what} live already: no more can be remembered`);
}

/**
 * Whether `local` has the key, which it remembers from now on. A full local cache is no reason to refuse what the store
 * has accepted.
 */
export function seenIn(local: LocalReplayMemory, key: string, expiresAt: number, owner: string): boolean {
  try {
    return !local.firstSeen(key, expiresAt, owner);
  } catch (error) {
    if (error instanceof Denial) return false;
    throw error;
  }
}
