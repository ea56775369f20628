import { createExpiringCache, type ExpiringCache } from '../lib/expiring-cache.ts';
import type { Clock } from '../lib/clock.ts';
import { createReplayMemory } from '../shared/replay.ts';
import type { Store } from './store.ts';

/** Bounds the memory of each kind. Callers without a token can only fill the kinds that begin a sign-in. */
const MAX_RECORDS = 50_000;

interface Kept {
  readonly value: unknown;
}

interface Members {
  readonly all: Set<string>;
  expiresAt: number;
}

/** Creates a store that lives as long as the process. A full kind forgets its least recently used record. */
export function createMemoryStore(clock: Clock): Store {
  const kinds = new Map<string, ExpiringCache<Kept>>();
  const bounded = new Map<string, Map<string, number>>();
  const sets = createExpiringCache<Members>(MAX_RECORDS, clock);
  const replay = createReplayMemory(clock);

  function recordsOf(kind: string): ExpiringCache<Kept> {
    const found = kinds.get(kind) ?? createExpiringCache<Kept>(MAX_RECORDS, clock);
    kinds.set(kind, found);
    return found;
  }

  function hasRoom(kind: string, id: string, max: number): boolean {
    const live = bounded.get(kind) ?? new Map<string, number>();
    bounded.set(kind, live);
    if (live.has(id) || live.size < max) return true;
    const now = clock();
    for (const [other, expiresAt] of live) if (expiresAt <= now) live.delete(other);
    return live.size < max;
  }

  return {
    // A copy: a caller that changes what it found changes nothing that is stored.
    get: async (kind, id) => structuredClone(recordsOf(kind).get(id)?.value),
    set: async (kind, id, value, expiresAt) => recordsOf(kind).set(id, { value: structuredClone(value) }, expiresAt),
    async setBounded(kind, id, value, expiresAt, max) {
      if (!hasRoom(kind, id, max)) return false;
      bounded.get(kind)?.set(id, expiresAt);
      recordsOf(kind).set(id, { value: structuredClone(value) }, expiresAt);
      return true;
    },
    async delete(kind, id) {
      bounded.get(kind)?.delete(id);
      recordsOf(kind).delete(id);
    },
    async addMember(set, member, expiresAt) {
      const members = sets.get(set) ?? { all: new Set(), expiresAt: 0 };
      members.all.add(member);
      members.expiresAt = Math.max(members.expiresAt, expiresAt);
      sets.set(set, members, members.expiresAt);
    },
    async takeMembers(set) {
      const members = sets.get(set);
      sets.delete(set);
      return [...(members?.all ?? [])];
    },
    firstSeen: async (key, expiresAt, owner) => replay.firstSeen(key, expiresAt, owner),
    publishRevoked: async () => {},
    close: async () => {},
  };
}
