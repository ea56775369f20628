import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { ensure } from '../../lib/remembered.ts';
import type { Upstream } from '../../model/route.ts';
import { createUpstreamConnector } from './upstream-connection.ts';

/** An upstream's header section may be larger than a client's: cookies, policies. */
const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

/**
 * The connections to one origin: each carries one request at a time, and their number has no limit, as a stream
 * occupies its connection.
 *
 * undici's own `Pool` walks all connections for a free one at each request, and those of open streams stand in front.
 * Here the free ones are a stack: a request costs the same beside ten thousand streams, and the connection that was
 * used last, which is the least likely to have been closed, is used first.
 */
export class ConnectionPool {
  readonly #origin: string;
  readonly #options: Client.Options;
  readonly #lifetimeMs: number;
  readonly #free: Client[] = [];
  /** Each with the time at which it is replaced, by the monotonic clock. */
  readonly #all = new Map<Client, number>();

  constructor({ origin, connectTimeoutMs, idleMs, connectionLifetimeMs = Infinity }: Connections) {
    this.#origin = origin;
    this.#lifetimeMs = connectionLifetimeMs;
    this.#options = {
      pipelining: 1,
      allowH2: false,
      // Quiet event streams live longer than undici's 300 s. They end with their token or their client.
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      // The upstream may ask for less, and never for more.
      keepAliveMaxTimeout: idleMs,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // One for all, as it keeps the TLS sessions.
      connect: createUpstreamConnector(connectTimeoutMs),
    };
  }

  /** Sends a request; `handler` gets its answer or its error. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const client = this.#young() ?? this.#open();
    // A client that took the request emits `drain` once it is free again. One that refused it at once does not.
    if (!client.dispatch(options, handler) && client.stats.size === 0 && this.#all.has(client)) this.#free.push(client);
  }

  /** The number of its connections, used and free. */
  get size(): number {
    return this.#all.size;
  }

  #open(): Client {
    const client = new Client(this.#origin, this.#options);
    client.on('drain', () => {
      if (this.#all.has(client) && !this.#isRetired(client)) this.#free.push(client);
    });
    client.on('disconnect', () => this.#forget(client));
    this.#all.set(client, this.#lifetimeMs === Infinity ? Infinity : performance.now() + this.#lifetimeMs);
    return client;
  }

  /** A free connection within its lifetime. */
  #young(): Client | undefined {
    let client = this.#free.pop();
    while (client !== undefined && this.#isRetired(client)) client = this.#free.pop();
    return client;
  }

  /** Whether an unused connection is past its lifetime: then it is closed. */
  #isRetired(client: Client): boolean {
    if (this.#lifetimeMs === Infinity || performance.now() < (this.#all.get(client) ?? 0)) return false;
    this.#all.delete(client);
    void client.close();
    return true;
  }

  /** Lets go of a connection that was closed while it was free: after many streams, many are. */
  #forget(client: Client): void {
    const at = client.stats.size === 0 ? this.#free.lastIndexOf(client) : -1;
    if (at === -1) return;
    this.#free.splice(at, 1);
    this.#all.delete(client);
  }

  /** Closes all connections. Requests in flight fail. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#all.keys()].map((client) => client.destroy()));
  }
}

/** What the connections of an upstream depend on. */
type Connections = Pick<Upstream, 'origin' | 'connectTimeoutMs' | 'idleMs' | 'connectionLifetimeMs'>;

/** The connections to all upstreams. They outlive a configuration, so that a reload closes none. */
export class ConnectionPools {
  readonly #byOrigin = new Map<string, ConnectionPool>();

  /** Those to an origin with these settings. */
  to({ origin, connectTimeoutMs, idleMs, connectionLifetimeMs }: Connections): ConnectionPool {
    const make = (): ConnectionPool => new ConnectionPool({ origin, connectTimeoutMs, idleMs, connectionLifetimeMs });
    return ensure(this.#byOrigin, [origin, connectTimeoutMs, idleMs, connectionLifetimeMs].join(' '), make);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byOrigin.values()].map((connections) => connections.destroy()));
  }
}
