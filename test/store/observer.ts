import type { StoreObserver, StoreOperation, StoreResult } from '../../src/model/shared.ts';
import type { LogStore } from '../../src/store/connection.ts';

/** The events of a store, for which a test can wait. */
export interface Told {
  readonly observer: StoreObserver;
  readonly log: LogStore;
  /** `operation result`, in order. */
  readonly requests: string[];
  readonly lines: {
    readonly level: string;
    readonly msg: string;
    readonly problem?: unknown;
    readonly key?: unknown;
  }[];
  /** Resolves when the store is up, or down; at once if it is. */
  until(up: boolean): Promise<void>;
}

/** Listens. */
export function listener(): Told {
  const requests: string[] = [];
  const lines: Told['lines'] = [];
  let up: boolean | undefined;
  let waiting: { readonly for: boolean; readonly resolve: () => void }[] = [];
  return {
    requests,
    lines,
    log: (level, msg, fields) => void lines.push({ level, msg, ...fields }),
    observer: {
      storeUp(now) {
        up = now;
        for (const each of waiting) if (each.for === now) each.resolve();
        waiting = waiting.filter((each) => each.for !== now);
      },
      storeRequest: (operation: StoreOperation, result: StoreResult) => void requests.push(`${operation} ${result}`),
    },
    until(wanted) {
      if (up === wanted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ for: wanted, resolve });
      return promise;
    },
  };
}
