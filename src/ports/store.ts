/**
 * The store that processes and replicas share, as its users see it: capabilities, the front door and `doctor`. A
 * capability provides it.
 *
 * @module
 */

import { hash } from 'node:crypto';
import type { Clock } from '../core/lib/clock.ts';
import { messageOf } from '../core/lib/wording.ts';
import { Denial } from '../core/model/denial.ts';
import type { LocalReplayMemory, ReplayMemory, SharedAnswers, StoreState } from './shared.ts';
import type { LocalRateLimiters, RateLimiters } from '../core/model/rate-limiter.ts';
import type { StoreObserver, StoreOperation, StoreResult } from '../core/model/events.ts';

/** `shared` and `on_store_failure`. */
export interface StoreSettings {
  readonly url: string;
  /** Whether a request passes (`open`) whose replay check fails because the store is unavailable. */
  readonly onFailure: 'closed' | 'open';
}

/** The commands that are sent to a store. */
export interface StoreCommands {
  /** Resolves with null where the condition does not hold. */
  set(
    key: string,
    value: string,
    options?: { readonly condition?: 'NX'; readonly expiration: { readonly type: 'PX'; readonly value: number } },
  ): Promise<string | null>;
  del(key: string): Promise<number>;
  getRange(key: string, start: number, end: number): Promise<string | null>;
  zCount(key: string, min: string, max: string): Promise<number>;
  zRangeWithScores(
    key: string,
    min: string,
    max: string,
    options: { readonly BY: 'SCORE'; readonly LIMIT: { readonly offset: number; readonly count: number } },
  ): Promise<readonly { readonly value: string; readonly score: number }[]>;
  zRem(key: string, member: string): Promise<number>;
  /** To a channel of the shard. */
  sPublish(channel: string, message: string): Promise<number>;
  eval(script: string, options: ScriptOptions): Promise<unknown>;
  evalSha(digest: string, options: ScriptOptions): Promise<unknown>;
}

interface ScriptOptions {
  readonly keys: string[];
  readonly arguments: string[];
}

/** A connection to Redis or Valkey, which reconnects. While the store is away, commands fail at once. */
export interface StoreConnection {
  /**
   * Runs `command`, which is one command, at the server that has `key`. `resultOf` names the result that is counted for
   * its answer; default `ok`.
   *
   * @throws {StoreError} at once while the store is away, and after the time of a command at the latest.
   */
  run<Value>(
    operation: StoreOperation,
    key: string,
    command: (client: StoreCommands) => Promise<Value>,
    resultOf?: (value: Value) => StoreResult,
  ): Promise<Value>;
  state(): StoreState;
  /** The server that has `key` by the last connection: `host:port`, `''` for a store that is one server. */
  serverOf(key: string): string;
  /** Waits for commands in flight, and does not reconnect. */
  close(): Promise<void>;
}

/** The store gave no answer, or answered that it cannot serve. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The refusal of a call that cannot be judged without the store. */
export function storeDenial(error: unknown): Denial {
  const message = messageOf(error);
  return new Denial('shared_store.unavailable', message, { cause: error });
}

/** Runs a script with its keys and arguments, in one atomic step. */
export type Script = (keys: readonly [string, ...string[]], args: readonly string[]) => Promise<unknown>;

/**
 * Creates a script whose keys lie in one slot of a cluster. It is run by its digest: the store is sent the text only if
 * it does not know it, as after a restart.
 *
 * While its slot moves to another server, some of the keys are there already. A cluster runs a script wherever all its
 * declared keys are; the last one that is declared never exists, so that the script waits for the end of the move.
 */
export function createScript(connection: StoreConnection, operation: StoreOperation, text: string): Script {
  const digest = hash('sha1', text);
  return (keys, args) => {
    const options = { keys: [...keys, `${keys[0]}:never`], arguments: [...args] };
    return connection.run(operation, keys[0], (client) =>
      client.evalSha(digest, options).catch((error: unknown) => {
        if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(text, options);
        throw error;
      }),
    );
  };
}

/** Protects keys and values in the store: a reader of the store learns nothing, a writer can forge nothing. */
export interface Sealing {
  /** The store's key for `key` of `kind`: a keyed digest, so that a reader of the store cannot test guesses. */
  place(kind: string, key: string): string;
  /** A kind for {@link Sealing.place} whose keys all lie in one slot of a cluster: a script may use several. */
  slot(kind: string, key: string): string;
  /** Encrypts `text`. Only a replica with the session key can open it, and only at `place`. */
  seal(place: string, text: string): string;
  /** The text that was sealed for this place; undefined for anything else. */
  open(place: string, sealed: string): string | undefined;
}

/** The prefix of every key in the store. Another format of keys or values needs another number. */
export const STORE_PREFIX = 'sallyport:v1:';

/** A channel of the store that a connection listens to. */
export interface Subscription {
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  /** Called when the connection listens, again after each reconnection. Messages before were missed. */
  readonly onSubscribed: () => void;
}

/** Logs changes of the store's state. */
export type LogStore = (level: 'info' | 'warn', msg: string, fields?: Readonly<Record<string, unknown>>) => void;

/** The parts of a process that its connection to the store uses. */
export interface StoreParts {
  /** Of `session_key`, which all replicas have. */
  readonly sessionKey: string;
  readonly clock: Clock;
  readonly log: LogStore;
  /** Default: it counts nothing. */
  readonly observer?: StoreObserver;
  readonly subscription?: ((sealing: Sealing) => Subscription) | undefined;
  /** The timeout of a command; default: what a request may wait. */
  readonly commandMs?: number | undefined;
  /** A connection by the same settings, to go on with. */
  readonly connection?: StoreConnection | undefined;
}

/** The timeout of a command for what a person or a transmitter would have to begin again: a sign-in, a revocation. */
export const LONG_COMMAND_MS = 1_000;

/** The store that processes and replicas share. */
export interface SharedStore {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly onFailure: StoreSettings['onFailure'];
  readonly answers: SharedAnswers;
  /** A replay cache that also remembers in `local`: this process refuses what the store has lost, too. */
  replay(local: LocalReplayMemory, onFailure?: StoreSettings['onFailure']): ReplayMemory;
  /** Limiters that count in the store; by `local` while it is away. */
  limiters(local: LocalRateLimiters): RateLimiters;
  /** Notes a value that no replica wrote. */
  readonly onCorrupt: (place: string, operation?: StoreOperation) => void;
}

/** Opens a store, once its code is loaded. It connects in the background. */
export type OpenStore = (settings: StoreSettings, parts: StoreParts) => Promise<SharedStore>;

/** What is made for the store of the newest configuration, once for each; undefined while there is none. */
export function madeFor<Part>(
  current: () => SharedStore | undefined,
  make: (store: SharedStore) => Part,
): () => Part | undefined {
  let made: { readonly store: SharedStore; readonly part: Part } | undefined;
  return () => {
    const store = current();
    if (store === undefined) return undefined;
    if (made?.store !== store) made = { store, part: make(store) };
    return made.part;
  };
}
