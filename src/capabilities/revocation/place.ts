import type { RevocationSettings } from './sources.ts';
import type { Revocation, RevokedTokens } from './revoked.ts';

/** The result of an event. `full`: all tokens of the issuer were revoked, for lack of room. */
export type KeepResult = 'kept' | 'repeated' | 'full';

/**
 * Where revocations are kept: in memory alone, in a file (`RevocationFile`), or for all replicas (`RevocationStore`).
 */
export interface RevocationPlace {
  /**
   * Keeps the revocations of an event. Resolves when a place that outlives the process has them, and when this process
   * has those that were made for lack of room. Rejects if they may not be kept: the event has to be sent again.
   *
   * @param id The id of the event: its repetition changes nothing.
   * @param arrivedAt In seconds since the epoch.
   */
  keep(revocations: readonly Revocation[], id: string | undefined, arrivedAt: number): Promise<KeepResult>;
  /** Tells other replicas to drop what they have cached of tokens. */
  readonly drop: (tokens: readonly RevokedTokens[], id: string | undefined) => Promise<KeepResult>;
  /** Takes the lease `name` for `holder`, or returns its present holder: one replica manages a stream of events. */
  readonly lease: (name: string, holder: LeaseHolder, forMs: number) => Promise<LeaseState>;
  close(): Promise<void>;
}

/** The replica that asks for a lease. */
export interface LeaseHolder {
  readonly id: string;
  /** When it last knew that events arrive, in milliseconds since the epoch. */
  readonly polledAt: number | undefined;
}

/** The answer to a replica that asks for a lease. */
export interface LeaseState {
  readonly isHeld: boolean;
  /** {@link LeaseHolder.polledAt} of the replica that has it. */
  readonly polledAt: number | undefined;
}

/** Without `revocation.file` and `shared`: a restart forgets revocations. */
export const memoryPlace: RevocationPlace = {
  keep: async () => 'kept',
  drop: async () => 'kept',
  lease: async (_name, { polledAt }) => ({ isHeld: true, polledAt }),
  close: async () => {},
};

/** The largest number of revocations that are kept. */
export const MAX_REVOCATIONS = 1_000_000;
/** The most bytes that they take in each process, by an estimate that is rather too high. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The room for the revocations of one issuer of tokens. */
export interface RevocationRoom {
  readonly entries: number;
  readonly bytes: number;
}

/** Equal shares: what fills the room of one issuer takes none of another. */
export function roomOf({ commandTargets }: Pick<RevocationSettings, 'commandTargets'>): RevocationRoom {
  const issuers = new Set(commandTargets.map(({ tokenIssuer }) => tokenIssuer)).size;
  const shares = Math.max(1, issuers);
  return { entries: Math.floor(MAX_REVOCATIONS / shares), bytes: Math.floor(MAX_BYTES / shares) };
}
