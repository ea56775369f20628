import type { Worker } from 'node:cluster';
import type { CurrentState } from '../admin/admin.ts';
import type { Snapshot } from '../config/files.ts';
import type { Certificates } from '../lib/certificate-files.ts';
import type { Fixed } from './reload.ts';

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
  | { readonly kind: 'state'; readonly id: number }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** A message of a worker to the primary process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly url: string }
  /** The worker cannot serve; `why` is one line for the operator. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The worker has reloaded, or refused to: with problems, it keeps the last good configuration. */
  | { readonly kind: 'reloaded'; readonly problems: readonly string[] }
  | { readonly kind: 'state'; readonly id: number; readonly state: CurrentState };

/** Sends a message to the primary process, from a worker. */
export function tellPrimary(message: FromWorker): void {
  process.send?.(message);
}

/** How long a worker may take to answer with its state. */
const PATIENCE_MS = 1_000;

/** Creates a function that asks workers for their states. A worker that does not answer in time is left out. */
export function createAskStates(
  tell: (worker: Worker, message: ToWorker) => void,
): (workers: readonly Worker[]) => Promise<readonly CurrentState[]> {
  let asked = 0;

  function ask(worker: Worker): Promise<CurrentState | undefined> {
    return new Promise((resolve) => {
      const id = (asked += 1);
      const listen = (message: FromWorker): void => {
        if (message.kind === 'state' && message.id === id) done(message.state);
      };
      const timer = setTimeout(() => done(undefined), PATIENCE_MS);
      const done = (state: CurrentState | undefined): void => {
        clearTimeout(timer);
        worker.off('message', listen);
        resolve(state);
      };
      worker.on('message', listen);
      tell(worker, { kind: 'state', id });
    });
  }

  return async (workers) => (await Promise.all(workers.map(ask))).filter((state) => state !== undefined);
}
