import type { Ledger } from '../../policy-parts/history/ledger.ts';
import { madeFor, type SharedStore } from '../../ports/store.ts';
import { createProcessLedger } from '../../policy-parts/history/memory-ledger.ts';
import { createSharedLedger } from './stored-ledger.ts';

/** Creates the ledger of a process: in the store of the newest configuration, or else in the memory of this process. */
export function createLedger(store: () => SharedStore | undefined): Ledger {
  const local = createProcessLedger();
  const shared = madeFor(store, ({ connection, sealing, onFailure }) =>
    createSharedLedger({ connection, sealing, onFailure, local }),
  );
  return {
    reserve: (reservation) => (shared() ?? local).reserve(reservation),
    settle: (...about) => (shared() ?? local).settle(...about),
  };
}
