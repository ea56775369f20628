import type { Snapshot } from '../config/files.ts';
import type { ServerState } from '../model/authorization-server.ts';
import type { StoreState } from '../model/shared.ts';

/** What the primary process tells a worker. */
export type ToWorker =
  | {
      readonly kind: 'begin';
      readonly file: string;
      readonly snapshot: Snapshot;
      /** What sessions are bound with where the configuration names no key: the same for all workers, in hex. */
      readonly key: string;
    }
  | { readonly kind: 'reload'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'reload-refused' }
  | { readonly kind: 'state'; readonly id: number }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** What a worker tells the primary process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly url: string }
  /** It cannot serve; a line for the operator. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'state'; readonly id: number; readonly state: WorkerState };

/** How a worker sees the world. */
export interface WorkerState {
  readonly servers: readonly ServerState[];
  readonly store: StoreState | undefined;
  readonly denials: readonly object[];
}

/** Tells the primary process, from a worker. */
export function tellPrimary(message: FromWorker): void {
  process.send?.(message);
}
