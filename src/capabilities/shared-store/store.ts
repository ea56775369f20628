/**
 * What replicas share, over the life of a process: through a store if one is configured, otherwise in the memory of
 * this process. The stages hold {@link Shared.answers}, {@link Shared.replay} and {@link Shared.ledger}, which stay the
 * same over all configurations.
 *
 * @module
 */

import type { Clock } from '../../core/lib/clock.ts';
import { loadOnce } from '../../core/lib/single-flight.ts';
import { type ApprovalBook, bookOf, stepOf } from '../../core/model/approval-book.ts';
import type { SharedStore } from '../../core/model/config.ts';
import type { Ledger } from '../../core/model/ledger.ts';
import type { ReplayMemory, SharedAnswers, StoreObserver, StoreState, RateLimiters } from '../../core/model/shared.ts';
import { createSharedAnswers } from './answers.ts';
import { connectStore, type LogStore, type StoreConnection } from './connection.ts';
import { createSharedLedger } from '../history/stored-ledger.ts';
import { type RevocationListener, revocationsFor } from '../revocation/revoked-tokens.ts';
import { createReplayMemory, createSharedReplayMemory } from './replay.ts';
import { createRateLimiters, createSharedRateLimiters } from './rate.ts';
import { createSealing } from './sealing.ts';

/** The parts that the replicas of the gateway share, or this process alone without a store. */
export interface Shared {
  readonly answers: SharedAnswers;
  readonly replay: ReplayMemory;
  readonly ledger: Ledger;
  readonly approvals: ApprovalBook;
  /** The connection of the newest configuration; undefined: no store is configured. */
  connection(): StoreConnection | undefined;
  /** The state of the store; undefined: none is configured. */
  readonly state: () => StoreState | undefined;
  /**
   * Prepares a configuration with `store`, without putting it into force. An unchanged store keeps its connection.
   *
   * @param hasFrontDoor Whether to listen for revocations of the front door.
   */
  prepare(store: SharedStore | undefined, sessionKey: string | undefined, hasFrontDoor?: boolean): Prepared;
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

interface StoreSettings {
  readonly url: string;
  readonly sessionKey: string;
  readonly hasFrontDoor: boolean;
}

interface UsedStore extends StoreSettings, Pick<Shared, 'answers' | 'replay' | 'ledger'> {
  readonly connection: StoreConnection;
  readonly approvals: () => Promise<ApprovalBook>;
  readonly limiters: RateLimiters;
}

/** At most one line about corrupt values in this time: an attacker with write access must not fill the log. */
const CORRUPT_LOG_MS = 60_000;

interface SharedParts {
  /** Counts calls without a store. */
  readonly ledger: Ledger;
  readonly revocations?: RevocationListener;
  /** The timeout of a command; default: that of {@link connectStore}. */
  readonly commandMs?: number | undefined;
}

/** Creates what replicas share. It has no store until {@link Prepared.use} is called. */
export function createShared(
  observer: StoreObserver,
  log: LogStore,
  clock: Clock,
  { ledger: localLedger, revocations, commandMs }: SharedParts,
): Shared {
  const local = createReplayMemory(clock);
  const localLimiters = createRateLimiters(clock);
  let current: UsedStore | undefined;
  let corruptLoggedAt = -Infinity;

  // Loaded only here: most gateways have no approvals.
  const localApprovals = loadOnce(async () => {
    const { MemoryApprovals } = await import('../approvals/memory-approvals.ts');
    return new MemoryApprovals(clock);
  });

  function onCorrupt(place: string): void {
    if (clock() - corruptLoggedAt < CORRUPT_LOG_MS) return;
    corruptLoggedAt = clock();
    log('warn', 'shared store holds a value that no replica wrote', { key: place });
  }

  function connected({ url, onFailure }: SharedStore, sessionKey: string, hasFrontDoor: boolean): UsedStore {
    const settings = { url, sessionKey, hasFrontDoor };
    const sealing = createSealing(sessionKey);
    const subscription = hasFrontDoor && revocations ? revocationsFor(revocations, sealing) : undefined;
    const connection = connectionWith(settings) ?? connectStore(url, observer, log, subscription, commandMs);
    return {
      ...settings,
      connection,
      answers: createSharedAnswers(connection, sealing, clock, onCorrupt),
      replay: createSharedReplayMemory({ connection, sealing, local, onFailure, clock }),
      ledger: createSharedLedger({ connection, sealing, local: localLedger, onFailure }),
      approvals: loadOnce(async () => {
        const { SharedApprovals } = await import('../approvals/stored-approvals.ts');
        return new SharedApprovals({
          connection,
          sealing,
          clock,
          spent: local,
          onCorrupt(place) {
            observer.storeRequest('approval', 'corrupt');
            onCorrupt(place);
          },
        });
      }),
      limiters: createSharedRateLimiters(connection, sealing, localLimiters),
    };
  }

  function connectionWith({ url, sessionKey, hasFrontDoor }: StoreSettings): StoreConnection | undefined {
    const isSame = current?.url === url && current.sessionKey === sessionKey && current.hasFrontDoor === hasFrontDoor;
    return isSame ? current?.connection : undefined;
  }

  return {
    answers: {
      get: async (kind, key) => current?.answers.get(kind, key),
      set: (...kept) => current?.answers.set(...kept),
      delete: (kind, key) => current?.answers.delete(kind, key),
    },
    replay: { firstSeen: (key, expiresAt, owner) => (current?.replay ?? local).firstSeen(key, expiresAt, owner) },
    ledger: {
      reserve: (reservation) => (current?.ledger ?? localLedger).reserve(reservation),
      settle: (...about) => (current?.ledger ?? localLedger).settle(...about),
    },
    approvals: bookOf((step, about) => stepOf((current?.approvals ?? localApprovals)(), step, about)),
    connection: () => current?.connection,
    state: () => current?.connection.state(),
    prepare(store, sessionKey, hasFrontDoor = false) {
      if (store !== undefined && sessionKey === undefined) throw new TypeError('a shared store needs a session key');
      const next = store && connected(store, sessionKey ?? '', hasFrontDoor);
      return {
        limiters: next?.limiters ?? localLimiters,
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
