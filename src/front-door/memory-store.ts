import type { Clock } from '../core/lib/clock.ts';
import { OwnerCounts } from '../core/lib/fair-share.ts';
import { createReplayMemory } from '../tokens/replay-memory.ts';
import {
  full,
  limitsOf,
  type RecordLimits,
  reserveOf,
  type StoredRecord,
  textOf,
  weightOf,
  type Store,
} from './store.ts';
import { Denial } from '../core/model/denial.ts';
import { ensure } from '../core/lib/remembered.ts';

/** A record as JSON: a fraction of the memory of its objects, and no caller can change it. */
interface MemoryRecord {
  readonly text: string;
  readonly weight: number;
  readonly expiresAt: number;
  readonly owner: string | undefined;
}

type Members = Map<string, number>;

/**
 * The interval at which expired records are removed: of each kind and set, and of a full one. It takes a few
 * milliseconds.
 */
const SWEEP_ALL_MS = 60_000;
const SWEEP_FULL_MS = 1_000;

/** Creates a store that lives as long as the process. What is full refuses a new record, and forgets no live one. */
export function createMemoryStore(clock: Clock): Store {
  const kinds = new Map<string, Records>();
  const sets = new Sets(clock);
  const replay = createReplayMemory(clock);

  function recordsOf(kind: string): Records {
    return ensure(kinds, kind, () => new Records(kind, clock));
  }

  return {
    get: async (kind, id) => recordsOf(kind).get(id),
    set: async (record) => recordsOf(record.kind).set(record),
    hasRoom: async (kind, owner) => recordsOf(kind).hasReserve(owner),
    async take(kind, id) {
      const value = recordsOf(kind).get(id);
      recordsOf(kind).delete(id);
      return value;
    },
    delete: async (kind, id) => recordsOf(kind).delete(id),
    addMember: async (set, member, expiresAt, max) => sets.add(set, member, expiresAt, max),
    removeMember: async (set, member) => sets.remove(set, member),
    takeMembers: async (set) => sets.take(set),
    async firstSeen(key, expiresAt, owner) {
      try {
        return replay.firstSeen(key, expiresAt, owner);
      } catch (error) {
        if (error instanceof Denial) throw full('used assertions');
        throw error;
      }
    },
    publishRevoked: async () => {},
    close: async () => {},
  };
}

/** The records of a kind. Counts the live ones by their weight, in all and for each owner. */
class Records {
  readonly #kind: string;
  readonly #limits: Required<RecordLimits>;
  readonly #clock: Clock;
  readonly #records = new Map<string, MemoryRecord>();
  readonly #weightOfOwners = new OwnerCounts();
  #weightOfAll = 0;
  #sweptAt: number;

  constructor(kind: string, clock: Clock) {
    this.#kind = kind;
    this.#limits = limitsOf(kind);
    this.#clock = clock;
    this.#sweptAt = clock();
  }

  get(id: string): unknown {
    const record = this.#live(id);
    return record === undefined ? undefined : JSON.parse(record.text);
  }

  set(record: StoredRecord): void {
    const text = textOf(record);
    const { id, expiresAt, owner } = record;
    this.#sweep(SWEEP_ALL_MS);
    const replaced = this.#live(id);
    // The growth of a live record counts already.
    const weight = Math.max(weightOf(text, replaced === undefined ? this.#limits.growth : 0), replaced?.weight ?? 0);
    if (!this.#hasRoom(owner, weight, replaced)) this.#sweep(SWEEP_FULL_MS);
    if (!this.#hasRoom(owner, weight, replaced)) throw full(this.#kind);
    this.delete(id);
    const kept = { text, weight, expiresAt, owner };
    this.#records.set(id, kept);
    this.#count(kept, weight);
  }

  hasReserve(owner: string | undefined): boolean {
    const { most, mostOfOwner } = this.#limits;
    const leavesReserve = (): boolean =>
      this.#weightOfAll + reserveOf(most) <= most &&
      this.#hasRoom(owner, owner === undefined ? 1 : reserveOf(mostOfOwner));
    if (!leavesReserve()) this.#sweep(SWEEP_FULL_MS);
    return leavesReserve();
  }

  delete(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    this.#records.delete(id);
    this.#count(record, -record.weight);
  }

  #live(id: string): MemoryRecord | undefined {
    const record = this.#records.get(id);
    if (record === undefined || this.#clock() < record.expiresAt) return record;
    this.delete(id);
    return undefined;
  }

  #hasRoom(owner: string | undefined, weight: number, replaced?: MemoryRecord): boolean {
    const { most, mostOfOwner } = this.#limits;
    const freed = replaced?.weight ?? 0;
    if (this.#weightOfAll + weight - freed > most) return false;
    const freedOfOwner = replaced?.owner === owner ? freed : 0;
    return owner === undefined || this.#weightOfOwners.of(owner) + weight - freedOfOwner <= mostOfOwner;
  }

  #count({ owner }: MemoryRecord, weight: number): void {
    this.#weightOfAll += weight;
    if (owner !== undefined) this.#weightOfOwners.add(owner, weight);
  }

  #sweep(everyMs: number): void {
    const now = this.#clock();
    if (Math.abs(now - this.#sweptAt) < everyMs) return;
    this.#sweptAt = now;
    for (const [id, { expiresAt }] of this.#records) if (expiresAt <= now) this.delete(id);
  }
}

/** The sets. Each lives no longer than the records that it lists, which are bounded. */
class Sets {
  readonly #clock: Clock;
  readonly #sets = new Map<string, Members>();
  #sweptAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAt = clock();
  }

  add(set: string, member: string, expiresAt: number, max: number): boolean {
    this.#sweep();
    const members = this.#live(set);
    if (!members.has(member) && members.size >= max) return false;
    members.set(member, expiresAt);
    this.#sets.set(set, members);
    return true;
  }

  remove(set: string, member: string): void {
    const members = this.#sets.get(set);
    members?.delete(member);
    if (members?.size === 0) this.#sets.delete(set);
  }

  take(set: string): readonly string[] {
    const members = this.#live(set);
    this.#sets.delete(set);
    return [...members.keys()];
  }

  #live(set: string): Members {
    const now = this.#clock();
    const members = this.#sets.get(set) ?? new Map<string, number>();
    for (const [member, expiresAt] of members) if (expiresAt <= now) members.delete(member);
    return members;
  }

  #sweep(): void {
    if (this.#clock() - this.#sweptAt < SWEEP_ALL_MS) return;
    this.#sweptAt = this.#clock();
    for (const set of this.#sets.keys()) if (this.#live(set).size === 0) this.#sets.delete(set);
  }
}
