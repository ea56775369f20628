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
  readonly #free: Client[] = [];
  readonly #all = new Set<Client>();

  /** @param connectTimeoutMs How long a new connection may take. */
  constructor(origin: string, connectTimeoutMs: number) {
    this.#origin = origin;
    this.#options = {
      pipelining: 1,
      allowH2: false,
      // Quiet event streams live longer than undici's 300 s. They end with their token or their client.
      bodyTimeout: 0,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // One for all, as it keeps the TLS sessions.
      connect: createUpstreamConnector(connectTimeoutMs),
    };
  }

  /** Sends a request; `handler` gets its answer or its error. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const client = this.#free.pop() ?? this.#open();
    // A client that took the request emits `drain` once it is free again. One that refused it at once does not.
    if (!client.dispatch(options, handler) && client.stats.size === 0) this.#free.push(client);
  }

  #open(): Client {
    const client = new Client(this.#origin, this.#options);
    client.on('drain', () => this.#free.push(client));
    this.#all.add(client);
    return client;
  }

  /** Closes all connections. Requests in flight fail. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map((client) => client.destroy()));
  }
}

/** The connections to all upstreams. They outlive a configuration, so that a reload closes none. */
export class ConnectionPools {
  readonly #byOrigin = new Map<string, ConnectionPool>();

  /** Those to an origin with a connect timeout. */
  to({ origin, connectTimeoutMs }: Upstream): ConnectionPool {
    const make = (): ConnectionPool => new ConnectionPool(origin, connectTimeoutMs);
    return ensure(this.#byOrigin, `${origin} ${connectTimeoutMs}`, make);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byOrigin.values()].map((connections) => connections.destroy()));
  }
}
