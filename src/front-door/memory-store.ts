import { createExpiringCache, type ExpiringCache } from '../lib/expiring-cache.ts';
import type { Clock } from '../lib/clock.ts';
import { createReplayMemory } from '../store/replay.ts';
import type { Store } from './store.ts';

/** Bounds the memory of each kind. Callers without a token can only fill the kinds that begin a sign-in. */
const MAX_RECORDS = 50_000;

interface Kept {
  readonly value: unknown;
}

/** The members of a set, each with its expiry (ms since the epoch). */
type Members = Map<string, number>;

/** Creates a store that lives as long as the process. A full kind forgets its least recently used record. */
export function createMemoryStore(clock: Clock): Store {
  const kinds = new Map<string, ExpiringCache<Kept>>();
  const bounded = new Map<string, Members>();
  const sets = createExpiringCache<Members>(MAX_RECORDS, clock);
  const replay = createReplayMemory(clock);

  function recordsOf(kind: string): ExpiringCache<Kept> {
    const found = kinds.get(kind) ?? createExpiringCache<Kept>(MAX_RECORDS, clock);
    kinds.set(kind, found);
    return found;
  }

  function hasRoom(members: Members, id: string, max: number): boolean {
    if (members.has(id) || members.size < max) return true;
    const now = clock();
    for (const [other, expiresAt] of members) if (expiresAt <= now) members.delete(other);
    return members.size < max;
  }

  return {
    // A copy: a caller that changes what it found changes nothing that is stored.
    get: async (kind, id) => structuredClone(recordsOf(kind).get(id)?.value),
    set: async (kind, id, value, expiresAt) => recordsOf(kind).set(id, { value: structuredClone(value) }, expiresAt),
    async setBounded(kind, id, value, expiresAt, max) {
      const live = bounded.get(kind) ?? new Map<string, number>();
      bounded.set(kind, live);
      if (!hasRoom(live, id, max)) return false;
      live.set(id, expiresAt);
      recordsOf(kind).set(id, { value: structuredClone(value) }, expiresAt);
      return true;
    },
    async take(kind, id) {
      const found = recordsOf(kind).get(id)?.value;
      recordsOf(kind).delete(id);
      return found;
    },
    async delete(kind, id) {
      bounded.get(kind)?.delete(id);
      recordsOf(kind).delete(id);
    },
    async addMember(set, member, expiresAt, max) {
      const members = sets.get(set) ?? new Map<string, number>();
      if (!hasRoom(members, member, max)) return false;
      members.set(member, expiresAt);
      sets.set(set, members, Math.max(...members.values()));
      return true;
    },
    removeMember: async (set, member) => void sets.get(set)?.delete(member),
    async takeMembers(set) {
      const members = sets.get(set) ?? new Map<string, number>();
      sets.delete(set);
      const now = clock();
      return [...members].flatMap(([member, expiresAt]) => (expiresAt > now ? [member] : []));
    },
    firstSeen: async (key, expiresAt, owner) => replay.firstSeen(key, expiresAt, owner),
    publishRevoked: async () => {},
    close: async () => {},
  };
}
