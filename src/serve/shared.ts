/**
 * What processes and replicas share, over the life of a process: through a store if one is configured, otherwise in the
 * memory of this process. {@link Shared.answers} and {@link Shared.replay} stay the same over all configurations.
 *
 * @module
 */

import { openStore } from '../capabilities/all.ts';
import { createRateLimiters } from '../core/gateway/limit/limit.ts';
import type { Clock } from '../core/lib/clock.ts';
import { createReplayMemory } from '../tokens/replay-memory.ts';
import type { ReplayMemory, SharedAnswers, StoreState } from '../ports/shared.ts';
import type { RateLimiters } from '../core/model/rate-limiter.ts';
import type { StoreObserver } from '../core/model/events.ts';
import {
  type LogStore,
  madeFor,
  type SharedStore,
  type StoreConnection,
  type StoreParts,
  type StoreSettings,
} from '../ports/store.ts';

/** The parts that the replicas of the gateway share, or this process alone without a store. */
export interface Shared {
  readonly answers: SharedAnswers;
  readonly replay: ReplayMemory;
  /** The store of the newest configuration; undefined: none is configured. */
  readonly store: () => SharedStore | undefined;
  /** The state of the store; undefined: none is configured. */
  readonly state: () => StoreState | undefined;
  /**
   * Prepares a configuration with `settings`, without putting it into force. An unchanged store keeps its connection.
   *
   * @param hasFrontDoor Whether to listen for revocations of the front door.
   */
  prepare(
    settings: StoreSettings | undefined,
    sessionKey: string | undefined,
    hasFrontDoor?: boolean,
  ): Promise<Prepared>;
  close(): Promise<void>;
}

/** A prepared store. Exactly one of {@link Prepared.use} and {@link Prepared.drop} must be called, once. */
export interface Prepared {
  /** The rate limiters of a configuration with this store. */
  readonly limiters: RateLimiters;
  /** Puts the store into force. */
  readonly use: () => void;
  /** Discards the store: the configuration was not put into force. */
  readonly drop: () => void;
}

interface UsedStore extends SharedStore {
  readonly url: string;
  readonly sessionKey: string;
  readonly hasFrontDoor: boolean;
}

interface SharedParts {
  /** Loads what listens to the front door. */
  readonly subscription?: () => Promise<StoreParts['subscription']>;
  /** The timeout of a command; default: that of the store. */
  readonly commandMs?: number | undefined;
}

/** Creates what replicas share. It has no store until {@link Prepared.use} is called. */
export function createShared(
  observer: StoreObserver,
  log: LogStore,
  clock: Clock,
  { subscription, commandMs }: SharedParts = {},
): Shared {
  const local = createReplayMemory(clock);
  const localLimiters = createRateLimiters(clock);
  let current: UsedStore | undefined;
  const replay = madeFor(
    () => current,
    (store) => store.replay(local),
  );

  async function opened(settings: StoreSettings, sessionKey: string, hasFrontDoor: boolean): Promise<UsedStore> {
    const about = { url: settings.url, sessionKey, hasFrontDoor };
    const store = await openStore(settings, {
      sessionKey,
      clock,
      log,
      observer,
      subscription: hasFrontDoor ? await subscription?.() : undefined,
      commandMs,
      connection: connectionWith(about),
    });
    return { ...store, ...about };
  }

  function connectionWith({
    url,
    sessionKey,
    hasFrontDoor,
  }: Omit<UsedStore, keyof SharedStore>): StoreConnection | undefined {
    const isSame = current?.url === url && current.sessionKey === sessionKey && current.hasFrontDoor === hasFrontDoor;
    return isSame ? current?.connection : undefined;
  }

  return {
    answers: {
      get: async (kind, key) => current?.answers.get(kind, key),
      set: (...kept) => current?.answers.set(...kept),
      delete: (kind, key) => current?.answers.delete(kind, key),
    },
    replay: { firstSeen: (key, expiresAt, owner) => (replay() ?? local).firstSeen(key, expiresAt, owner) },
    store: () => current,
    state: () => current?.connection.state(),
    async prepare(settings, sessionKey, hasFrontDoor = false) {
      if (settings !== undefined && sessionKey === undefined) throw new TypeError('a shared store needs a session key');
      const next = settings && (await opened(settings, sessionKey ?? '', hasFrontDoor));
      return {
        limiters: next?.limiters(localLimiters) ?? localLimiters,
        use() {
          const before = current?.connection;
          current = next;
          if (before !== next?.connection) void before?.close();
          if (next === undefined) observer.storeUp(undefined);
        },
        drop() {
          if (next === undefined || next.connection === current?.connection) return;
          void next.connection.close();
          observer.storeUp(current && current.connection.state().state === 'available');
        },
      };
    },
    close: async () => current?.connection.close(),
  };
}
