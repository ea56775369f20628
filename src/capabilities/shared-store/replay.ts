import type { Clock } from '../../core/lib/clock.ts';
import { seenIn } from '../../tokens/replay-memory.ts';
import type { LocalReplayMemory } from '../../ports/shared.ts';
import type { ReplayMemory } from '../../ports/shared.ts';
import { type Sealing, type StoreConnection, type StoreSettings, storeDenial } from '../../ports/store.ts';

interface SharedReplayParts {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly local: LocalReplayMemory;
  readonly onFailure: StoreSettings['onFailure'];
  readonly clock: Clock;
}

/**
 * Creates the replay cache that replicas share. Keys are kept in `local` too: this process refuses them also after the
 * store has lost them, or while it is away with `on_store_failure: open`.
 */
export function createSharedReplayMemory({
  connection,
  sealing,
  local,
  onFailure,
  clock,
}: SharedReplayParts): ReplayMemory {
  return {
    async firstSeen(key, expiresAt, owner) {
      const leftMs = Math.ceil(expiresAt - clock());
      if (leftMs <= 0) return true;
      const place = sealing.place('replay', key);
      let isFirst: boolean;
      try {
        const set = await connection.run('replay', place, (client) =>
          client.set(place, '1', { condition: 'NX', expiration: { type: 'PX', value: leftMs } }),
        );
        isFirst = set === 'OK';
      } catch (error) {
        if (onFailure === 'open') return local.firstSeen(key, expiresAt, owner);
        throw storeDenial(error);
      }
      return seenIn(local, key, expiresAt, owner) ? false : isFirst;
    },
  };
}
