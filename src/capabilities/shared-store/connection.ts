import type { StoreState } from '../../ports/shared.ts';
import type { StoreObserver, StoreOperation, StoreResult } from '../../core/model/events.ts';
import {
  type LogStore,
  STORE_PREFIX,
  type StoreCommands,
  type StoreConnection,
  StoreError,
  type Subscription,
} from '../../ports/store.ts';
import { createBackOff } from '../../core/lib/back-off.ts';
import { TimeoutError, within } from '../../core/lib/clock.ts';
import { kindOf, kinds } from './store-url.ts';
import { clientLibrary, CONNECT_MS, OneServer, type StoreFinder, type StoreServers, withEncoded } from './clients.ts';
import { ClusterFinder } from './cluster.ts';
import { SentinelFinder } from './sentinel.ts';

/** Takes no note of a store. */
const unobserved: StoreObserver = { storeUp() {}, storeRequest() {} };

/** How long a request waits for a store that does not answer. Only the first one waits; the next do not ask. */
const COMMAND_MS = 250;
/** The longest pause between two attempts to connect to a store that is one server. */
const LONGEST_RETRY_MS = 5_000;
/** A store that disappears silently is noticed within this time, without any request. */
const PROBE_EVERY_MS = 5000;
const FIRST_RETRY_MS = 50;
/** The beginning of the keys that are written as a test. */
const PROBE = `${STORE_PREFIX}probe`;
/** The limit on commands in flight. No connection answers this number within {@link COMMAND_MS}. */
const MAX_WAITING = 10_000;

/** The parts of a connection. */
export interface ConnectionParts {
  readonly log: LogStore;
  readonly observer?: StoreObserver | undefined;
  readonly subscription?: Subscription | undefined;
  /** The timeout of a command. */
  readonly commandMs?: number | undefined;
}

/**
 * Connects to the servers that `url` names, in the background, with back-off. After a timeout the store counts as away
 * until each has taken a write: a stopped process still accepts connections.
 */
export function connectStore(
  url: string,
  { log, observer = unobserved, subscription, commandMs = COMMAND_MS }: ConnectionParts,
): StoreConnection {
  const finder = finderOf(url);
  let current: StoreServers | undefined;
  let last: StoreServers | undefined;
  let subscribedAt = '';
  let problem = 'not connected yet';
  let logged: StoreState['state'] | undefined;
  const backOff = createBackOff(FIRST_RETRY_MS, finder.longestRetryMs, Math.random);
  let connectedAt = 0;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  const heartbeat = setInterval(() => {
    for (const key of current?.keys(PROBE) ?? []) run('probe', key, probeOf(key)).catch(() => {});
  }, PROBE_EVERY_MS).unref();
  const watch =
    finder.watchEveryMs === undefined ? undefined : setInterval(() => void follow(), finder.watchEveryMs).unref();
  observer.storeUp(false);
  void connect();

  /** Never rejects. */
  async function connect(): Promise<void> {
    let servers: StoreServers | undefined;
    try {
      servers = await finder.find({
        // RESP3 sends messages of a channel between the answers to commands, so that one connection is enough.
        ...(subscription !== undefined && { RESP: 3 }),
        commandsQueueMaxLength: MAX_WAITING,
      });
      if (closed) return;
      await within(2 * CONNECT_MS, taken(servers));
    } catch (error) {
      servers?.discard();
      away(error);
      return;
    }
    if (closed) servers.discard();
    else use(servers);
  }

  async function taken(servers: StoreServers): Promise<void> {
    await servers.connect((error) => lose(servers, error));
    await Promise.all(Array.from(servers.keys(PROBE), (key) => servers.send(key, probeOf(key))));
    if (subscription !== undefined) await subscribe(servers, subscription);
  }

  /** A user of an ACL may lack the permission, and needs the store for the rest all the same. */
  async function subscribe(servers: StoreServers, { channel, onMessage, onSubscribed }: Subscription): Promise<void> {
    subscribedAt = servers.serverOf(channel);
    try {
      await servers.send(channel, (client) => client.sSubscribe(channel, onMessage));
      onSubscribed();
    } catch (error) {
      log('warn', 'shared store refuses a subscription', { channel, problem: withoutSecrets(error, finder.secrets) });
    }
  }

  function use(servers: StoreServers): void {
    current = servers;
    last = servers;
    connectedAt = performance.now();
    observer.storeUp(true);
    if (logged !== 'available') log('info', 'shared store available');
    logged = 'available';
  }

  /** Leaves a former primary, which may still take writes that the new one lacks, or no longer gets the messages. */
  async function follow(): Promise<void> {
    const servers = current;
    if (servers === undefined) return;
    const hasMoved = await finder.hasMoved(servers);
    const hasChannelMoved = subscription !== undefined && servers.serverOf(subscription.channel) !== subscribedAt;
    if (hasMoved || hasChannelMoved) lose(servers, new Error('another primary has taken over'));
  }

  function lose(servers: StoreServers, error: unknown): void {
    if (servers !== current) return;
    current = undefined;
    servers.discard();
    // A connection that keeps failing is retried less and less often.
    if (performance.now() - connectedAt > finder.longestRetryMs) backOff.reset();
    away(error);
  }

  function away(error: unknown): void {
    if (closed) return;
    problem = withoutSecrets(error, finder.secrets);
    observer.storeUp(false);
    if (logged !== 'unavailable') log('warn', 'shared store unavailable', { problem });
    logged = 'unavailable';
    retry = setTimeout(() => void connect(), backOff.next()).unref();
  }

  async function run<Value>(
    operation: StoreOperation,
    key: string,
    command: (client: StoreCommands) => Promise<Value>,
    resultOf: (value: Value) => StoreResult = () => 'ok',
  ): Promise<Value> {
    const servers = current;
    if (servers === undefined) {
      observer.storeRequest(operation, 'away');
      throw new StoreError(`the shared store is unavailable: ${problem}`);
    }
    try {
      const value = await within(commandMs, servers.send(key, command));
      observer.storeRequest(operation, resultOf(value));
      return value;
    } catch (error) {
      observer.storeRequest(operation, 'error');
      if (error instanceof TimeoutError || !servers.isReady || saysUnfit(error)) lose(servers, error);
      throw new StoreError(`the shared store: ${withoutSecrets(error, finder.secrets)}`, { cause: error });
    }
  }

  return {
    run,
    serverOf: (key) => last?.serverOf(key) ?? '',
    state: () => (current === undefined ? { state: 'unavailable', problem } : { state: 'available' }),
    async close() {
      closed = true;
      problem = 'closed';
      clearTimeout(retry);
      clearInterval(heartbeat);
      clearInterval(watch);
      finder.close();
      const servers = current;
      current = undefined;
      if (servers === undefined) return;
      await within(COMMAND_MS, servers.close()).catch(() => servers.discard());
    },
  };
}

/** Writes, since a PING also succeeds on a read-only replica, with a full memory and without permission. */
function probeOf(key: string): (client: StoreCommands) => Promise<unknown> {
  return (client) => client.set(key, '1', { expiration: { type: 'PX', value: 1000 } });
}

/** How the servers of each kind of store are found. */
const finders: { readonly [Kind in keyof typeof kinds]: (url: string) => StoreFinder } = {
  sentinel: (url) => new SentinelFinder(kinds.sentinel(url)),
  cluster: (url) => new ClusterFinder(kinds.cluster(url)),
};

function finderOf(url: string): StoreFinder {
  const kind = kindOf(url);
  if (kind !== undefined) return finders[kind](url);
  const { password } = new URL(url);
  return {
    find: async (options) => new OneServer((await clientLibrary())({ ...options, url }), ''),
    watchEveryMs: undefined,
    hasMoved: async () => false,
    longestRetryMs: LONGEST_RETRY_MS,
    secrets: withEncoded([decodeURIComponent(password), password]),
    close() {},
  };
}

/** Errors by which a server says that it cannot serve. Others, NOPERM too, concern one command alone. */
const cannotServe = /^(?:READONLY|OOM|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|NOAUTH|WRONGPASS|BUSY|CLUSTERDOWN)\b/;

function saysUnfit(error: unknown): boolean {
  return error instanceof Error && cannotServe.test(error.message);
}

/** The message of an error in one short line, without passwords, which a server could repeat. */
function withoutSecrets(error: unknown, secrets: readonly string[]): string {
  let text = error instanceof Error ? error.message || error.name : String(error);
  for (const secret of secrets) text = text.replaceAll(secret, '…');
  return text.slice(0, 200);
}
