import { writtenJson } from '../../core/lib/json/parsed.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { KeptAnswer, SharedAnswers } from '../../ports/shared.ts';
import type { StoreResult } from '../../core/model/events.ts';
import type { Sealing, StoreConnection } from '../../ports/store.ts';

/** The longest sealed answer that is shared, in bytes. Each replica asks the server for a longer one itself. */
const MAX_BYTES = 64 * 1024;

/** The content of a place in the store: an answer; `miss`: none, or an expired one; `corrupt`: no replica wrote it. */
type StoredAnswer = KeptAnswer | 'miss' | 'corrupt';

/** Creates the answers that replicas share by `connection`. `onCorrupt` is called for values that no replica wrote. */
export function createSharedAnswers(
  connection: StoreConnection,
  sealing: Sealing,
  clock: Clock,
  onCorrupt: (place: string) => void,
): SharedAnswers {
  function read(place: string, sealed: string): StoredAnswer {
    // GETRANGE answers '' where there is nothing.
    if (sealed === '') return 'miss';
    const text = sealed.length > MAX_BYTES ? undefined : sealing.open(place, sealed);
    if (text === undefined) return 'corrupt';
    // Only a replica can have written a sealed text.
    const { answer, expiresAt } = JSON.parse(text) as KeptAnswer;
    return clock() < expiresAt ? { answer, expiresAt } : 'miss';
  }

  return {
    async get(kind, key) {
      const place = sealing.place(`answer:${kind}`, key);
      try {
        const found = await connection.run(
          'get',
          place,
          // An attacker with write access to the store could make a GET return a value of any length.
          async (client) => read(place, (await client.getRange(place, 0, MAX_BYTES)) ?? ''),
          resultOf,
        );
        if (found === 'corrupt') onCorrupt(place);
        return typeof found === 'string' ? undefined : found;
      } catch {
        return undefined;
      }
    },
    set(kind, key, answer, expiresAt) {
      const leftMs = Math.floor(expiresAt - clock());
      if (leftMs <= 0) return;
      const place = sealing.place(`answer:${kind}`, key);
      const kept: KeptAnswer = { answer, expiresAt };
      const text = writtenJson(kept);
      if (text === undefined) return;
      const sealed = sealing.seal(place, text);
      if (sealed.length > MAX_BYTES) return;
      connection
        .run('set', place, (client) => client.set(place, sealed, { expiration: { type: 'PX', value: leftMs } }))
        .catch(() => {});
    },
    delete(kind, key) {
      const place = sealing.place(`answer:${kind}`, key);
      connection.run('delete', place, (client) => client.del(place)).catch(() => {});
    },
  };
}

function resultOf(found: StoredAnswer): StoreResult {
  return typeof found === 'string' ? found : 'hit';
}
