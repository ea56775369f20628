import type { SharedStore, StoreParts, StoreSettings } from '../../ports/store.ts';
import { createSharedAnswers } from './answers.ts';
import { connectStore } from './connection.ts';
import { createSharedRateLimiters } from './rate.ts';
import { createSharedReplayMemory } from './replay.ts';
import { createSealing } from './sealing.ts';

/** At most one line about corrupt values in this time: an attacker with write access must not fill the log. */
const CORRUPT_LOG_MS = 60_000;

/** Opens Redis or Valkey. It connects in the background. */
export function openStore(settings: StoreSettings, parts: StoreParts): SharedStore {
  const { sessionKey, clock, log, observer, subscription, commandMs } = parts;
  const sealing = createSealing(sessionKey);
  const connection =
    parts.connection ?? connectStore(settings.url, { log, observer, subscription: subscription?.(sealing), commandMs });
  let loggedAt = -Infinity;

  function onCorrupt(place: string): void {
    if (clock() - loggedAt < CORRUPT_LOG_MS) return;
    loggedAt = clock();
    log('warn', 'shared store holds a value that no replica wrote', { key: place });
  }

  return {
    connection,
    sealing,
    onFailure: settings.onFailure,
    answers: createSharedAnswers(connection, sealing, clock, onCorrupt),
    replay: (local, onFailure = settings.onFailure) =>
      createSharedReplayMemory({ connection, sealing, local, onFailure, clock }),
    limiters: (local) => createSharedRateLimiters(connection, sealing, local),
    onCorrupt(place, operation) {
      if (operation !== undefined) observer?.storeRequest(operation, 'corrupt');
      onCorrupt(place);
    },
  };
}
