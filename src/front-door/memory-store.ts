import type { Clock } from '../lib/clock.ts';
import { createReplayMemory } from '../store/replay.ts';
import { Full, limitsOf, textOf, weightOf } from './record-kinds.ts';
import type { Store } from './store.ts';

/** A record as JSON: a fraction of the memory of its objects, and no caller can change it. */
interface Kept {
  readonly text: string;
  readonly weight: number;
  readonly expiresAt: number;
  readonly owner: string | undefined;
}

/** The members of a set, each with its expiry (ms since the epoch). */
type Members = Map<string, number>;

/** How often expired records are removed: of each kind and set, and of a full one. It takes a few milliseconds. */
const SWEEP_ALL_MS = 60_000;
const SWEEP_FULL_MS = 1_000;

/** Creates a store that lives as long as the process. What is full refuses a new record, and forgets no live one. */
export function createMemoryStore(clock: Clock): Store {
  const kinds = new Map<string, Records>();
  // Each lives no longer than the tokens in it, which are bounded.
  const sets = new Map<string, Members>();
  const replay = createReplayMemory(clock);
  let setsSweptAt = clock();

  function recordsOf(kind: string): Records {
    const found = kinds.get(kind) ?? createRecords(kind, clock);
    kinds.set(kind, found);
    return found;
  }

  function liveMembers(set: string): Members {
    const now = clock();
    const members = sets.get(set) ?? new Map<string, number>();
    for (const [member, expiresAt] of members) if (expiresAt <= now) members.delete(member);
    return members;
  }

  function sweepSets(): void {
    if (clock() - setsSweptAt < SWEEP_ALL_MS) return;
    setsSweptAt = clock();
    for (const set of sets.keys()) if (liveMembers(set).size === 0) sets.delete(set);
  }

  return {
    get: async (kind, id) => recordsOf(kind).get(id),
    set: async (record) => {
      const text = textOf(record);
      const { kind, id, expiresAt, owner } = record;
      recordsOf(kind).set(id, { text, weight: weightOf(text), expiresAt, owner });
    },
    async take(kind, id) {
      const found = recordsOf(kind).get(id);
      recordsOf(kind).delete(id);
      return found;
    },
    delete: async (kind, id) => recordsOf(kind).delete(id),
    async addMember(set, member, expiresAt, max) {
      sweepSets();
      const members = liveMembers(set);
      if (!members.has(member) && members.size >= max) return false;
      members.set(member, expiresAt);
      sets.set(set, members);
      return true;
    },
    async removeMember(set, member) {
      const members = sets.get(set);
      members?.delete(member);
      if (members?.size === 0) sets.delete(set);
    },
    async takeMembers(set) {
      const members = liveMembers(set);
      sets.delete(set);
      return [...members.keys()];
    },
    firstSeen: async (key, expiresAt, owner) => replay.firstSeen(key, expiresAt, owner),
    publishRevoked: async () => {},
    close: async () => {},
  };
}

/** The records of a kind. */
interface Records {
  get(id: string): unknown;
  set(id: string, record: Kept): void;
  delete(id: string): void;
}

/** Counts the live records of a kind by their weight, in all and for each owner. */
function createRecords(kind: string, clock: Clock): Records {
  const { most, mostOfOwner } = limitsOf(kind);
  const records = new Map<string, Kept>();
  const weightOfOwners = new Map<string, number>();
  let weightOfAll = 0;
  let sweptAt = clock();

  function count({ owner }: Kept, weight: number): void {
    weightOfAll += weight;
    if (owner === undefined) return;
    const left = (weightOfOwners.get(owner) ?? 0) + weight;
    if (left > 0) weightOfOwners.set(owner, left);
    else weightOfOwners.delete(owner);
  }

  function hasRoom({ owner, weight }: Kept): boolean {
    if (weightOfAll + weight > most) return false;
    return owner === undefined || (weightOfOwners.get(owner) ?? 0) + weight <= mostOfOwner;
  }

  function remove(id: string): void {
    const found = records.get(id);
    if (found === undefined) return;
    records.delete(id);
    count(found, -found.weight);
  }

  function sweep(everyMs: number): void {
    const now = clock();
    if (Math.abs(now - sweptAt) < everyMs) return;
    sweptAt = now;
    for (const [id, { expiresAt }] of records) if (expiresAt <= now) remove(id);
  }

  function live(id: string): Kept | undefined {
    const found = records.get(id);
    return found !== undefined && clock() < found.expiresAt ? found : undefined;
  }

  return {
    get(id) {
      const found = live(id);
      return found === undefined ? undefined : JSON.parse(found.text);
    },
    set(id, record) {
      sweep(SWEEP_ALL_MS);
      if (live(id) === undefined) {
        remove(id);
        if (!hasRoom(record)) sweep(SWEEP_FULL_MS);
        if (!hasRoom(record)) throw new Full(kind);
      }
      remove(id);
      records.set(id, record);
      count(record, record.weight);
    },
    delete: remove,
  };
}
