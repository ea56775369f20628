import type { StoreObserver, StoreOperation, StoreResult, StoreState } from '../model/shared.ts';
import { createBackOff } from '../lib/back-off.ts';
import { TimeoutError, within } from '../lib/deadline.ts';
import { clientsOf, CONNECT_MS, discard, type StoreClient } from './clients.ts';
import { STORE_PREFIX } from './sealing.ts';

/** A connection to Redis or Valkey, which reconnects. While the store is away, commands fail at once. */
export interface StoreConnection {
  /**
   * Runs `command` on the connection. `resultOf` names the result that is counted for its answer; default `ok`.
   *
   * @throws {StoreError} at once while the store is away, and after {@link COMMAND_MS} at the latest.
   */
  run<Value>(
    operation: StoreOperation,
    command: (client: StoreClient) => Promise<Value>,
    resultOf?: (value: Value) => StoreResult,
  ): Promise<Value>;
  state(): StoreState;
  /** The server of the last connection, as sentinels name it; `''` for a store of one server. */
  primary(): string;
  /** Waits for commands in flight, and does not reconnect. */
  close(): Promise<void>;
}

/** A channel of the store that a connection listens to. */
export interface Subscription {
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  /** Called when the connection listens, again after each reconnection. Messages before were missed. */
  readonly onSubscribed: () => void;
}

/** Logs changes of the store's state. */
export type LogStore = (level: 'info' | 'warn', msg: string, fields?: Readonly<Record<string, unknown>>) => void;

/** How long a request waits for a store that does not answer. Only the first one waits; the next do not ask. */
const COMMAND_MS = 250;
/** A store that disappears silently is noticed within this time, without any request. */
const PROBE_EVERY_MS = 5000;
const FIRST_RETRY_MS = 50;
/** The limit on commands in flight. No connection answers this number within {@link COMMAND_MS}. */
const MAX_WAITING = 10_000;

/**
 * Connects to `url`, or to the primary that its sentinels name, in the background, with back-off. After a
 * timeout the store counts as away until it has taken a write: a stopped process still accepts connections.
 *
 * @param commandMs The timeout of a command.
 */
export function connectStore(
  url: string,
  observer: StoreObserver,
  log: LogStore,
  subscription?: Subscription,
  commandMs = COMMAND_MS,
): StoreConnection {
  const clients = clientsOf(url);
  let current: StoreClient | undefined;
  let primary = '';
  let problem = 'not connected yet';
  let logged: StoreState['state'] | undefined;
  const backOff = createBackOff(FIRST_RETRY_MS, clients.longestRetryMs, Math.random);
  let connectedAt = 0;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  const heartbeat = setInterval(() => {
    if (current !== undefined) run('probe', probe).catch(() => {});
  }, PROBE_EVERY_MS).unref();
  const watch =
    clients.watchEveryMs === undefined ? undefined : setInterval(() => void follow(), clients.watchEveryMs).unref();
  observer.storeUp(false);
  void connect();

  /** Never rejects. */
  async function connect(): Promise<void> {
    let client: StoreClient | undefined;
    let madeFor = '';
    try {
      const made = await clients.make({
        // RESP3 sends messages of a channel between the answers to commands, so that one connection is enough.
        ...(subscription !== undefined && { RESP: 3 }),
        commandsQueueMaxLength: MAX_WAITING,
      });
      if (closed) return;
      client = made.client;
      madeFor = made.primary;
      await within(2 * CONNECT_MS, taken(client));
    } catch (error) {
      discard(client);
      away(error);
      return;
    }
    if (closed) discard(client);
    else use(client, madeFor);
  }

  /** Connects, and resolves when the store has accepted a write. */
  async function taken(client: StoreClient): Promise<void> {
    // Without a listener an error would end the process.
    client.on('error', (error: unknown) => lose(client, error));
    await client.connect();
    await probe(client);
    if (subscription !== undefined) await subscribe(client, subscription);
  }

  /** A user of an ACL may lack the permission, and needs the store for the rest all the same. */
  async function subscribe(client: StoreClient, { channel, onMessage, onSubscribed }: Subscription): Promise<void> {
    try {
      await client.subscribe(channel, onMessage);
      onSubscribed();
    } catch (error) {
      log('warn', 'shared store refuses a subscription', { channel, problem: withoutSecrets(error, clients.secrets) });
    }
  }

  function use(client: StoreClient, madeFor: string): void {
    current = client;
    primary = madeFor;
    connectedAt = performance.now();
    observer.storeUp(true);
    if (logged !== 'available') log('info', 'shared store available');
    logged = 'available';
  }

  /** Leaves a former primary, which may still take writes that the new one lacks. */
  async function follow(): Promise<void> {
    const client = current;
    if (client === undefined) return;
    if (await clients.hasMoved(primary)) lose(client, new Error('the sentinels name another primary'));
  }

  /** Discards `client` if it is the current one, and reconnects. */
  function lose(client: StoreClient, error: unknown): void {
    if (client !== current) return;
    current = undefined;
    discard(client);
    // A connection that keeps failing is retried less and less often.
    if (performance.now() - connectedAt > clients.longestRetryMs) backOff.reset();
    away(error);
  }

  function away(error: unknown): void {
    if (closed) return;
    problem = withoutSecrets(error, clients.secrets);
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
      throw new StoreError(`the shared store is unavailable: ${problem}`);
    }
    try {
      const value = await within(commandMs, command(client));
      observer.storeRequest(operation, resultOf(value));
      return value;
    } catch (error) {
      observer.storeRequest(operation, 'error');
      if (error instanceof TimeoutError || !client.isReady || saysUnfit(error)) lose(client, error);
      throw new StoreError(`the shared store: ${withoutSecrets(error, clients.secrets)}`, { cause: error });
    }
  }

  return {
    run,
    primary: () => primary,
    state: () => (current === undefined ? { state: 'unavailable', problem } : { state: 'available' }),
    async close() {
      closed = true;
      problem = 'closed';
      clearTimeout(retry);
      clearInterval(heartbeat);
      clearInterval(watch);
      clients.close();
      const client = current;
      current = undefined;
      if (client === undefined) return;
      await within(COMMAND_MS, client.close()).catch(() => discard(client));
    },
  };
}

/** Writes, since a PING also succeeds on a read-only replica, with a full memory and without permission. */
async function probe(client: StoreClient): Promise<void> {
  await client.set(`${STORE_PREFIX}probe`, '1', { PX: 1000 });
}

/** The store gave no answer, or answered that it cannot serve. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Errors by which a server says that it cannot serve. Others, NOPERM too, concern one command alone. */
const cannotServe = /^(?:READONLY|OOM|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|NOAUTH|WRONGPASS|BUSY|CLUSTERDOWN)\b/;

/** Whether an error means that the store is away until it takes a write again. */
function saysUnfit(error: unknown): boolean {
  return error instanceof Error && cannotServe.test(error.message);
}

/** The message of an error in one short line, without passwords, which a server could repeat. */
function withoutSecrets(error: unknown, secrets: readonly string[]): string {
  let text = error instanceof Error ? error.message || error.name : String(error);
  for (const secret of secrets) text = text.replaceAll(secret, '…');
  return text.slice(0, 200);
}
