import type { Snapshot } from '../../config/files.ts';
import type { Certificates } from '../../lib/certificate-files.ts';
import type { Batch } from '../../admin/console/messages.ts';
import type { ConsoleQuestion } from '../../admin/console/process-source.ts';
import type { Sighting } from '../../model/lock.ts';
import type { ApprovalQuestion, ApprovalReply } from './primary-approvals.ts';
import type { LedgerAnswer, LedgerQuestion } from './primary-ledger.ts';
import type { Fixed } from '../reload.ts';
import type { PrimaryAnswer, RevocationMessage, WorkerQuestion } from '../revocation.ts';

/** A message of the primary process to a worker. */
export type ToWorker =
  | {
      readonly kind: 'begin';
      readonly file: string;
      readonly snapshot: Snapshot;
      /** The settings that the first workers listen with, whatever the snapshot says. */
      readonly fixed: Fixed;
      /** The key that binds sessions if the configuration has none: the same for all workers, in hex. */
      readonly key: string;
      /** The certificate in force, if `tls` is configured: only the primary process reads its files. */
      readonly certificates?: Certificates | undefined;
    }
  | { readonly kind: 'reload'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'reload-refused' }
  | { readonly kind: 'reopen-log' }
  /** Tokens of the front door that were revoked, by their SHA-256 (base64url). */
  | { readonly kind: 'end-tokens'; readonly digests: readonly string[] }
  | { readonly kind: 'renewed'; readonly certificates: Certificates }
  | LedgerAnswer
  | RevocationMessage
  | PrimaryAnswer
  | ApprovalReply
  /** A question of the console. */
  | { readonly kind: 'ask'; readonly id: number; readonly question: ConsoleQuestion; readonly argument: unknown }
  /** Definitions that another worker saw on a route with a lock. */
  | { readonly kind: 'sightings'; readonly route: string; readonly sightings: readonly Sighting[] }
  /** Asks what definitions this worker saw, for another one that begins. */
  | { readonly kind: 'tell-sightings'; readonly newcomer: number }
  /** Whether to send new decisions. */
  | { readonly kind: 'watch'; readonly isWatched: boolean }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** A message of a worker to the primary process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly url: string }
  /** The worker cannot serve; `why` is one line for the operator. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The worker has reloaded, or refused to: with problems, it keeps the last good configuration. */
  | { readonly kind: 'reloaded'; readonly problems: readonly string[] }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'decisions'; readonly batch: Batch }
  | LedgerQuestion
  | WorkerQuestion
  | ApprovalQuestion
  /** Definitions that this worker saw, for the others, or for one that begins. */
  | {
      readonly kind: 'sightings';
      readonly route: string;
      readonly sightings: readonly Sighting[];
      readonly newcomer?: number;
    };

/** Sends a message to the primary process, from a worker. */
export function tellPrimary(message: FromWorker): void {
  process.send?.(message);
}
