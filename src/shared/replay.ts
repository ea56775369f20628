import type { Clock } from '../lib/clock.ts';
import type { SharedStore } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import type { ReplayMemory } from '../model/shared.ts';
import type { StoreConnection } from './connection.ts';
import type { LocalReplayMemory } from './memory.ts';
import type { Sealing } from './sealing.ts';

/**
 * Creates the memory that replicas have together. `local` remembers as well what comes by here: a store that lost
 * everything, or that is away with `on_store_failure: open`, does not let it pass here again.
 */
export function createSharedReplayMemory(
  connection: StoreConnection,
  sealing: Sealing,
  local: LocalReplayMemory,
  onFailure: SharedStore['onFailure'],
  clock: Clock,
): ReplayMemory {
  return {
    async firstSeen(key, expiresAt, owner) {
      const leftMs = Math.ceil(expiresAt - clock());
      if (leftMs <= 0) return true;
      const place = sealing.place('replay', key);
      let isFirst: boolean;
      try {
        const set = await connection.run('replay', (client) =>
          client.set(place, '1', { condition: 'NX', expiration: { type: 'PX', value: leftMs } }),
        );
        isFirst = set === 'OK';
      } catch (error) {
        if (onFailure === 'open') return local.firstSeen(key, expiresAt, owner);
        throw new Denial('shared_store.unavailable', error instanceof Error ? error.message : String(error), {
          cause: error,
        });
      }
      return seenHere(key, expiresAt, owner) ? false : isFirst;
    },
  };

  /** A full memory here is no reason to refuse what the store has decided. */
  function seenHere(key: string, expiresAt: number, owner: string): boolean {
    try {
      return !local.firstSeen(key, expiresAt, owner);
    } catch (error) {
      if (error instanceof Denial) return false;
      throw error;
    }
  }
}
