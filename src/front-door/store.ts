import type { RecordKind, StoredRecord } from './record-kinds.ts';

/** What the front door remembers: in memory, or in the store that replicas share, sealed. */
export interface Store {
  readonly get: (kind: RecordKind, id: string) => Promise<unknown>;
  /**
   * Keeps a record, or replaces the one with this id.
   *
   * @throws {Full} for a new one, or for a longer one, while its kind or its owner has as many live ones as it may. No
   *   record that lives is forgotten before it expires.
   */
  readonly set: (record: StoredRecord) => Promise<void>;
  /** Whether a new record has room. A share of each bound is left to requests at the same time. */
  readonly hasRoom: (kind: RecordKind, owner: string | undefined) => Promise<boolean>;
  /** Returns a record and deletes it, in one atomic step over all replicas. */
  readonly take: (kind: RecordKind, id: string) => Promise<unknown>;
  readonly delete: (kind: RecordKind, id: string) => Promise<void>;
  /** Adds `member` to a set until `expiresAt`; false, and nothing is added, while the set has `max` live ones. */
  readonly addMember: (set: string, member: string, expiresAt: number, max: number) => Promise<boolean>;
  readonly removeMember: (set: string, member: string) => Promise<void>;
  /** Empties a set in one step, and returns its live members. */
  readonly takeMembers: (set: string) => Promise<readonly string[]>;
  /** Whether `key` is new, in one atomic step over all replicas. It is remembered until `expiresAt`. */
  readonly firstSeen: (key: string, expiresAt: number, owner: string) => Promise<boolean>;
  /** Tells all gateways on the store which access tokens have ended, by their SHA-256 (base64url). */
  readonly publishRevoked: (digests: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
}
