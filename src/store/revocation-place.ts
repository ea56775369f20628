import type { Revocation, RevokedTokens } from '../model/revocation.ts';

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
  /** Whether `holder` has the lease `name`, for `forMs`: one replica manages a stream of events. */
  readonly lease: (name: string, holder: string, forMs: number) => Promise<boolean>;
  close(): Promise<void>;
}

/** Without `revocation.file` and `shared`: a restart forgets revocations. */
export const memoryPlace: RevocationPlace = {
  keep: async () => 'kept',
  drop: async () => 'kept',
  lease: async () => true,
  close: async () => {},
};
