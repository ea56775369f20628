/** @module What the primary process and its workers say to each other. */

import type { Snapshot } from '../config/snapshot.ts';
import type { Certificates } from '../../core/gateway/listen/certificates.ts';
import type { Fixed } from '../reload.ts';
import type { StartMessage } from '../start.ts';

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
  | { readonly kind: 'renewed'; readonly certificates: Certificates }
  /** A question of the admin listener. */
  | { readonly kind: 'ask'; readonly number: number; readonly question: string; readonly argument: unknown }
  /** News of a capability, from another worker. */
  | { readonly kind: 'news'; readonly capability: string; readonly news: unknown }
  /** Asks for all news of this worker, for another one that begins. */
  | { readonly kind: 'tell-news'; readonly newcomer: number }
  /** Whether to send what a feed tells. */
  | { readonly kind: 'watch'; readonly feed: string; readonly isWatched: boolean }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** A message of a worker to the primary process. */
export type FromWorker =
  | StartMessage
  /** The worker has reloaded, or refused to: with problems, it keeps the last good configuration. */
  | { readonly kind: 'reloaded'; readonly problems: readonly string[] }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'fed'; readonly feed: string; readonly piece: unknown }
  /** News of a capability, for the other workers, or for one that begins. */
  | { readonly kind: 'news'; readonly capability: string; readonly news: unknown; readonly newcomer?: number };

/** Sends a message to the primary process, from a worker. */
export function tellPrimary(message: FromWorker): void {
  process.send?.(message);
}
