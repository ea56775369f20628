import type { Clock } from '../../core/lib/clock.ts';
import { madeFor } from '../../core/model/store.ts';
import { createReplayMemory } from '../../tokens/replay-memory.ts';
import type { ProcessParts } from '../capability.ts';
import type { ApprovalBook } from './book.ts';
import { MemoryApprovals } from './memory-approvals.ts';
import { SharedApprovals } from './stored-approvals.ts';

/** Creates the book of a process: in the store of the newest configuration, or else in the memory of this process. */
export function createBook(store: ProcessParts['store'], clock: Clock): ApprovalBook {
  const spent = createReplayMemory(clock);
  const local = new MemoryApprovals(clock);
  const shared = madeFor(store, ({ connection, sealing, onCorrupt }) => {
    const noted = (place: string): void => onCorrupt(place, 'approval');
    return new SharedApprovals({ connection, sealing, clock, spent, onCorrupt: noted });
  });
  const book = (): ApprovalBook => shared() ?? local;
  return {
    ask: (...about) => book().ask(...about),
    settle: (...about) => book().settle(...about),
    decide: (...about) => book().decide(...about),
    find: (...about) => book().find(...about),
    list: (...about) => book().list(...about),
    expire: (...about) => book().expire(...about),
    sweep: (...about) => book().sweep(...about),
  };
}
