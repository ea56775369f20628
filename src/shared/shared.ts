/**
 * What replicas know together, over the life of a process: a connection to a store where one is configured, the memory
 * of this process where none is. The stages hold {@link Shared.answers} and {@link Shared.replay}, which stay the same
 * however often the configuration changes.
 *
 * @module
 */

import type { Clock } from '../lib/clock.ts';
import type { SharedStore } from '../model/config.ts';
import type { RateLimiters } from '../model/limits.ts';
import type { ReplayMemory, SharedAnswers, StoreObserver, StoreState } from '../model/shared.ts';
import { createSharedAnswers } from './answers.ts';
import { connectStore, type LogStore, type StoreConnection } from './connection.ts';
import { createReplayMemory } from './memory.ts';
import { createRateLimiters, createSharedRateLimiters } from './rate.ts';
import { createSharedReplayMemory } from './replay.ts';
import { createSealing } from './sealing.ts';

/** See the module. */
export interface Shared {
  readonly answers: SharedAnswers;
  readonly replay: ReplayMemory;
  /** Those of the newest configuration. */
  readonly limiters: RateLimiters;
  /** The connection of the newest configuration; undefined: no store is configured. */
  connection(): StoreConnection | undefined;
  /** How the store is; undefined: none is configured. */
  readonly state: () => StoreState | undefined;
  /** From now on by `store`; its connection stays where nothing of it changed. */
  use(store: SharedStore | undefined, sessionKey: string | undefined): void;
  close(): Promise<void>;
}

/** A store in use, and what it was made from. */
interface Use {
  readonly url: string;
  readonly sessionKey: string;
  readonly connection: StoreConnection;
  readonly answers: SharedAnswers;
  readonly replay: ReplayMemory;
  readonly limiters: RateLimiters;
}

/** One line about values that nobody of us wrote in so many ms: who can write to the store must not fill the log. */
const CORRUPT_LOG_MS = 60_000;

/** Creates it without a store. */
export function createShared(observer: StoreObserver, log: LogStore, clock: Clock): Shared {
  const local = createReplayMemory(clock);
  const localLimiters = createRateLimiters(clock);
  let current: Use | undefined;
  let corruptLoggedAt = -Infinity;

  function onCorrupt(place: string): void {
    if (clock() - corruptLoggedAt < CORRUPT_LOG_MS) return;
    corruptLoggedAt = clock();
    log('warn', 'shared store holds a value that no replica wrote', { key: place });
  }

  function connected({ url, onFailure }: SharedStore, sessionKey: string): Use {
    const same = current?.url === url && current.sessionKey === sessionKey ? current : undefined;
    const connection = same?.connection ?? connectStore(url, observer, log);
    const sealing = createSealing(sessionKey);
    return {
      url,
      sessionKey,
      connection,
      answers: createSharedAnswers(connection, sealing, clock, onCorrupt),
      replay: createSharedReplayMemory(connection, sealing, local, onFailure, clock),
      limiters: createSharedRateLimiters(connection, sealing, localLimiters),
    };
  }

  return {
    answers: {
      get: async (kind, key) => current?.answers.get(kind, key),
      set: (...kept) => current?.answers.set(...kept),
      delete: (kind, key) => current?.answers.delete(kind, key),
    },
    replay: { firstSeen: (key, expiresAt, owner) => (current?.replay ?? local).firstSeen(key, expiresAt, owner) },
    limiters: (counted, rate) => (current?.limiters ?? localLimiters)(counted, rate),
    connection: () => current?.connection,
    state: () => current?.connection.state(),
    use(store, sessionKey) {
      const before = current?.connection;
      if (store !== undefined && sessionKey === undefined) throw new TypeError('a shared store needs a session key');
      current = store && connected(store, sessionKey ?? '');
      if (before !== current?.connection) void before?.close();
      if (current === undefined) observer.storeUp(undefined);
    },
    close: async () => current?.connection.close(),
  };
}
