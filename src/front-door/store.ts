/** The kinds of records, each in a name space of its own. */
type RecordKind = string;

/** What the front door remembers: in memory, or in the store that replicas share, sealed. */
export interface Store {
  readonly get: (kind: RecordKind, id: string) => Promise<unknown>;
  /** Keeps a JSON value until `expiresAt` (ms since the epoch). */
  readonly set: (kind: RecordKind, id: string, value: unknown, expiresAt: number) => Promise<void>;
  /** As {@link set}, but false, and nothing is kept, for a new record while `max` are live. */
  readonly setBounded: (
    kind: RecordKind,
    id: string,
    value: unknown,
    expiresAt: number,
    max: number,
  ) => Promise<boolean>;
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
