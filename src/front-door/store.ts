import { errors } from 'oidc-provider';

/** The records of the front door: in memory, or in the store that replicas share, sealed. */
export interface Store {
  readonly get: (kind: RecordKind, id: string) => Promise<unknown>;
  /**
   * Keeps a record, or replaces the one with this id.
   *
   * @throws {Unavailable} for a new one, or for a longer one, while its kind or its owner has as many live ones as it
   *   may. No record that lives is forgotten before it expires.
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

const KiB = 1024;

/** The bounds of the records of a kind. A record counts once for each started kibibyte of its JSON. */
export interface RecordLimits {
  /** The live ones of all owners. */
  readonly most: number;
  /** The live ones of one owner: a person, or what the record belongs to. */
  readonly mostOfOwner: number;
  /** The length of one as JSON, in bytes. */
  readonly maxLength: number;
  /** How many bytes a record grows by while it lives: they count from the start. Default: 0. */
  readonly growth?: number;
}

/** The live interactions of all people: sign-ins under way. A common one is 640 bytes long, and counts twice. */
const INTERACTIONS = 16_000;

/**
 * Every kind of record. Those of the first group belong to callers that have not signed in: the rate of each address is
 * bounded too (`admission.ts`). Those of the second group belong to a person. The sum of `most` bounds the memory of
 * the front door; docs/front-door.md states it.
 */
const limits = {
  Interaction: { most: 2 * INTERACTIONS, mostOfOwner: Infinity, maxLength: 8 * KiB, growth: KiB / 2 },
  /** Of one interaction: each that lives has room for its own. */
  SignIn: { most: 4 * INTERACTIONS, mostOfOwner: 4, maxLength: KiB / 2 },
  /** A session in which no person has signed in, of one network. */
  Visit: { most: 8_000, mostOfOwner: 600, maxLength: 4 * KiB },
  /** Of one address: a device that waits for a person, and the code that the person types. */
  DeviceCode: { most: 16_000, mostOfOwner: 600, maxLength: 16 * KiB, growth: KiB },
  UserCode: { most: 8_000, mostOfOwner: 300, maxLength: KiB / 8 },
  /** Until its first use, of one address. */
  Client: { most: 10_000, mostOfOwner: 300, maxLength: 8 * KiB },

  Session: { most: 32_000, mostOfOwner: 100, maxLength: 64 * KiB },
  /** Of one session. */
  SessionUid: { most: 32_000, mostOfOwner: 100, maxLength: KiB / 8 },
  AuthorizationCode: { most: 8_000, mostOfOwner: 200, maxLength: 64 * KiB },
  AccessToken: { most: 48_000, mostOfOwner: 1_000, maxLength: 64 * KiB },
  RefreshToken: { most: 48_000, mostOfOwner: 1_000, maxLength: 64 * KiB },
  /** One that was used within `clients.refresh.grace`. */
  UsedRefreshToken: { most: 8_000, mostOfOwner: 200, maxLength: 64 * KiB },
  Grant: { most: 48_000, mostOfOwner: 1_000, maxLength: 64 * KiB },
  /** A token without a person: of a client for itself, or of a workload. */
  ClientCredentials: { most: 16_000, mostOfOwner: 1_000, maxLength: 8 * KiB },
  Person: { most: 40_000, mostOfOwner: 64, maxLength: 64 * KiB },
} satisfies Readonly<Record<string, RecordLimits>>;

/** The kinds of records, each in a name space of its own. */
export type RecordKind = keyof typeof limits;

/** A record to keep. */
export interface StoredRecord {
  readonly kind: RecordKind;
  readonly id: string;
  /** A JSON value. */
  readonly value: unknown;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The party that it counts for. Default: none; it counts for all. */
  readonly owner?: string | undefined;
}

/** @throws {TypeError} for a kind without a row, whose records would have no bound. */
export function limitsOf(kind: string): Required<RecordLimits> {
  if (!isRecordKind(kind)) throw new TypeError(`no limits of ${kind}`);
  return { growth: 0, ...limits[kind] };
}

/** Whether a name of oidc-provider's models is a kind of records. */
export function isRecordKind(name: string): name is RecordKind {
  return Object.hasOwn(limits, name);
}

/**
 * The JSON of a record.
 *
 * @throws {InvalidRequest} for a record that is too long.
 */
export function textOf({ kind, value }: StoredRecord): string {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > limits[kind].maxLength) throw new errors.InvalidRequest('the request is too long');
  return text;
}

/** The number of times that a record counts. */
export function weightOf(text: string, growth: number): number {
  return Math.ceil((Buffer.byteLength(text) + growth) / KiB);
}

/** The part of a bound that {@link Store.hasRoom} leaves to requests at the same time. */
export function reserveOf(most: number): number {
  return Math.ceil(most / 100);
}

/** The front door cannot serve a request now, in the form that oidc-provider answers with. */
export class Unavailable extends errors.CustomOIDCProviderError {
  override readonly status = 503;
  override readonly statusCode = 503;

  /** @param detail For the log: why, with addresses that callers need not know. */
  constructor(description: string, detail?: string) {
    super('temporarily_unavailable', description);
    if (detail !== undefined) this.error_detail = detail;
  }
}

/** No room is left for a new record. Nothing else is forgotten for it. */
export function full(kind: string): Unavailable {
  return new Unavailable(`the front door has too many live records of this kind: ${kind}`);
}
