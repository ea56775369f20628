import type { createClient } from '@redis/client';
import type { StoreObserver, StoreOperation, StoreResult, StoreState } from '../model/shared.ts';
import { createBackOff } from '../lib/back-off.ts';
import { TimeoutError, within } from '../lib/deadline.ts';
import { STORE_PREFIX } from './sealing.ts';

/** A connection to a Redis or Valkey, which comes and goes; whoever asks learns at once while it is away. */
export interface StoreConnection {
  /**
   * Sends what `command` sends. `resultOf` says what to count of its answer; default `ok`.
   *
   * @throws {StoreError} at once while the store is away, and after {@link COMMAND_MS} at the latest.
   */
  run<Value>(
    operation: StoreOperation,
    command: (client: StoreClient) => Promise<Value>,
    resultOf?: (value: Value) => StoreResult,
  ): Promise<Value>;
  state(): StoreState;
  /** Waits for what is under way, and connects no more. */
  close(): Promise<void>;
}

/** Says what has become of the store. */
export type LogStore = (level: 'info' | 'warn', msg: string, fields?: Readonly<Record<string, unknown>>) => void;

/** What the rest of this folder sees of a client of `@redis/client`. */
type StoreClient = ReturnType<typeof createClient>;

/** What a request may lose to a store that does not answer. Once: whoever comes after it does not ask. */
const COMMAND_MS = 250;
/** Until a connection stands; it has as long again to take a write. */
const CONNECT_MS = 1000;
/** A store that went away silently is noticed within it, also when nobody asks. */
const PROBE_EVERY_MS = 5000;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5000;
/** Commands that wait at once: more than one connection answers in {@link COMMAND_MS}. */
const MAX_WAITING = 10_000;

/**
 * Connects to `url` behind the caller's back, again and again with growing pauses. What it does not answer in time it is
 * not asked again until it has taken a write: a process that was stopped still accepts connections.
 */
export function connectStore(url: string, observer: StoreObserver, log: LogStore): StoreConnection {
  let current: StoreClient | undefined;
  let problem = 'not connected yet';
  let logged: StoreState['state'] | undefined;
  const backOff = createBackOff(FIRST_RETRY_MS, LONGEST_RETRY_MS, Math.random);
  let connectedAt = 0;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  const heartbeat = setInterval(() => {
    if (current !== undefined) run('probe', probe).catch(() => {});
  }, PROBE_EVERY_MS).unref();
  observer.storeUp(false);
  void connect();

  /** Never rejects. */
  async function connect(): Promise<void> {
    let client: StoreClient | undefined;
    try {
      // Not before it is needed: a gateway without a shared store starts without it.
      const { createClient: create } = await import('@redis/client');
      if (closed) return;
      client = create({
        url,
        disableOfflineQueue: true,
        disableClientInfo: true,
        commandsQueueMaxLength: MAX_WAITING,
        maintNotifications: 'disabled',
        // It would call a connection ready that has answered nothing yet: we connect again ourselves.
        socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
      });
      await within(2 * CONNECT_MS, taken(client));
    } catch (error) {
      discard(client);
      away(error);
      return;
    }
    if (closed) discard(client);
    else use(client);
  }

  /** A connection that has taken a write. */
  async function taken(client: StoreClient): Promise<void> {
    // Without a listener an error would end the process.
    client.on('error', (error: unknown) => lose(client, error));
    await client.connect();
    await probe(client);
  }

  function use(client: StoreClient): void {
    current = client;
    connectedAt = performance.now();
    observer.storeUp(true);
    if (logged !== 'available') log('info', 'shared store available');
    logged = 'available';
  }

  /** `client` serves no longer. */
  function lose(client: StoreClient, error: unknown): void {
    if (client !== current) return;
    current = undefined;
    discard(client);
    // One that comes and goes is asked less and less often.
    if (performance.now() - connectedAt > LONGEST_RETRY_MS) backOff.reset();
    away(error);
  }

  function away(error: unknown): void {
    if (closed) return;
    problem = withoutSecrets(error, url);
    observer.storeUp(false);
    if (logged !== 'unavailable') log('warn', 'shared store unavailable', { problem });
    logged = 'unavailable';
    retry = setTimeout(() => void connect(), backOff.next()).unref();
  }

  async function run<Value>(
    operation: StoreOperation,
    command: (client: StoreClient) => Promise<Value>,
    resultOf: (value: Value) => StoreResult = () => 'ok',
  ): Promise<Value> {
    const client = current;
    if (client === undefined) {
      observer.storeRequest(operation, 'away');
      throw new StoreError(`the shared store is away: ${problem}`);
    }
    try {
      const value = await within(COMMAND_MS, command(client));
      observer.storeRequest(operation, resultOf(value));
      return value;
    } catch (error) {
      observer.storeRequest(operation, 'error');
      if (error instanceof TimeoutError || !client.isReady || saysUnfit(error)) lose(client, error);
      throw new StoreError(`the shared store: ${withoutSecrets(error, url)}`, { cause: error });
    }
  }

  return {
    run,
    state: () => (current === undefined ? { state: 'unavailable', problem } : { state: 'available' }),
    async close() {
      closed = true;
      problem = 'closed';
      clearTimeout(retry);
      clearInterval(heartbeat);
      const client = current;
      current = undefined;
      if (client === undefined) return;
      await within(COMMAND_MS, client.close()).catch(() => discard(client));
    },
  };
}

/** A write: a replica, a full memory and a user without permission answer a PING as well. */
async function probe(client: StoreClient): Promise<void> {
  await client.set(`${STORE_PREFIX}probe`, '1', { PX: 1000 });
}

function discard(client: StoreClient | undefined): void {
  try {
    client?.destroy();
  } catch {
    // It was closed already.
  }
}

/** The store gave no answer, or one that says that it cannot serve. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Answers by which a server says that it serves nobody, or not us; others, NOPERM too, are about one command alone. */
const cannotServe = /^(?:READONLY|OOM|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|NOAUTH|WRONGPASS|BUSY|CLUSTERDOWN)\b/;

/** Whether an answer says that the server will not do, until it takes a write again. */
function saysUnfit(error: unknown): boolean {
  return error instanceof Error && cannotServe.test(error.message);
}

/** One short line without the password, which a server could repeat. */
function withoutSecrets(error: unknown, url: string): string {
  const { password } = new URL(url);
  let text = error instanceof Error ? error.message || error.name : String(error);
  for (const secret of [password, decodeURIComponent(password)]) {
    if (secret !== '') text = text.replaceAll(secret, '…');
  }
  return text.slice(0, 200);
}
