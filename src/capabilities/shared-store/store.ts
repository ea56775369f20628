import type { OpenStore, StoreConnection } from '../../ports/store.ts';
import { StoreError } from '../../ports/store.ts';
import { createSharedAnswers } from './answers.ts';
import type { ConnectionParts } from './connection.ts';
import { createSharedRateLimiters } from './rate.ts';
import { createSharedReplayMemory } from './replay.ts';
import { createSealing } from './sealing.ts';

/** At most one line about corrupt values in this time: an attacker with write access must not fill the log. */
const CORRUPT_LOG_MS = 60_000;

/** Opens Redis or Valkey. */
export const openStore: OpenStore = (settings, parts) => {
  const { sessionKey, clock, log, observer, subscription, commandMs } = parts;
  const sealing = createSealing(sessionKey);
  const connection =
    parts.connection ??
    connectLazily(settings.url, { log, observer, subscription: subscription?.(sealing), commandMs });
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
};

/** Connects as soon as the code for it is loaded: most gateways have no store. */
function connectLazily(url: string, parts: ConnectionParts): StoreConnection {
  const problem = 'not connected yet';
  let connection: StoreConnection | undefined;
  let isClosed = false;
  parts.observer?.storeUp(false);
  void connect();

  async function connect(): Promise<void> {
    const { connectStore } = await import('./connection.ts');
    if (!isClosed) connection = connectStore(url, parts);
  }

  return {
    async run(operation, ...command) {
      if (connection !== undefined) return connection.run(operation, ...command);
      parts.observer?.storeRequest(operation, 'away');
      throw new StoreError(`the shared store is unavailable: ${problem}`);
    },
    state: () => connection?.state() ?? { state: 'unavailable', problem },
    serverOf: (key) => connection?.serverOf(key) ?? '',
    async close() {
      isClosed = true;
      await connection?.close();
    },
  };
}
