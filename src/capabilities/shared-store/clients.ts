/**
 * What the clients of all kinds of stores have in common.
 *
 * @module
 */

import type { createClient } from '@redis/client';
import { within } from '../../core/lib/clock.ts';
import type { StoreHost } from './store-url.ts';

/** A client of `@redis/client`, as this folder sees it. */
export type StoreClient = ReturnType<typeof createClient>;
/** Its options. */
export type ClientOptions = NonNullable<Parameters<typeof createClient>[0]>;
/** Makes a client that is not connected yet. */
export type CreateClient = (options: ClientOptions) => StoreClient;

/** The servers that take writes, and the connections to them. */
export interface StoreServers {
  /** Connects to all. `onError` is called for an error of any connection, later too. */
  connect(onError: (error: unknown) => void): Promise<void>;
  readonly isReady: boolean;
  /** Sends one command to the server that has `key`. */
  send<Value>(key: string, command: (client: StoreClient) => Promise<Value>): Promise<Value>;
  /** The server that has `key`: `host:port`, `''` for the only one. */
  serverOf(key: string): string;
  /** One key for each server, which that server has. */
  keys(prefix: string): Iterable<string>;
  /** Waits for commands in flight. */
  close(): Promise<void>;
  /** Ends all connections at once. */
  discard(): void;
}

/** Finds the servers of one store. */
export interface StoreFinder {
  /** Rejects if they are not known. It connects to none of them yet. */
  find(options: ClientOptions): Promise<StoreServers>;
  /** How often {@link StoreFinder.hasMoved} is to be asked; undefined: never. */
  readonly watchEveryMs: number | undefined;
  /** Whether other servers than these take writes by now. Never rejects. */
  hasMoved(servers: StoreServers): Promise<boolean>;
  /** The longest pause between two attempts to connect. */
  readonly longestRetryMs: number;
  /** What no message may show. */
  readonly secrets: readonly string[];
  close(): void;
}

/** The time limit for connecting. */
export const CONNECT_MS = 1000;

/**
 * The timing by which stores that fail over are followed. New servers are used within five seconds, also after an
 * attempt to connect to one that has ended.
 */
export const failover = { watchEveryMs: 1000, longestRetryMs: 500 } as const;

/** How long a server has for its answer about others, with connecting. */
const ANSWER_MS = 500;

const common = {
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const satisfies ClientOptions;

/** The client would call a connection ready before any answer, so that reconnecting is done elsewhere. */
const noRetries = { connectTimeout: CONNECT_MS, reconnectStrategy: false } as const;

/** Loads the client only when a store is used: a gateway without a shared store does not need it. */
export async function clientLibrary(): Promise<CreateClient> {
  const { createClient: create } = await import('@redis/client');
  return (options) => create({ ...common, ...options, socket: { ...noRetries, ...options.socket } as never });
}

/** The options of a client of a server. */
export function optionsOf(
  { host, port }: StoreHost,
  isTls: boolean,
  { username, password }: { readonly username: string | undefined; readonly password: string | undefined },
): ClientOptions {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    socket: { host, port, ...(isTls && { tls: true as const }) },
  };
}

/** A store that is one server. */
export class OneServer implements StoreServers {
  readonly #client: StoreClient;
  readonly #name: string;

  constructor(client: StoreClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async connect(onError: (error: unknown) => void): Promise<void> {
    // Without a listener an error would end the process.
    this.#client.on('error', onError);
    await this.#client.connect();
    const { mode } = await this.#client.hello();
    if (mode === 'cluster')
      throw new Error('the server is one of a Redis Cluster: begin the URL with redis+cluster://');
  }

  get isReady(): boolean {
    return this.#client.isReady;
  }

  send<Value>(_: string, command: (client: StoreClient) => Promise<Value>): Promise<Value> {
    return command(this.#client);
  }

  serverOf(): string {
    return this.#name;
  }

  keys(prefix: string): readonly string[] {
    return [prefix];
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  discard(): void {
    discard(this.#client);
  }
}

interface InformantTexts {
  /** None has answered; the first reason follows. */
  readonly none: string;
  /** Those that answer know less than others did before. */
  readonly former: string;
}

/**
 * Servers that say where a store is. All are asked, and the newest answer counts: a server that was cut off still names
 * a former primary. The highest epoch is the newest.
 */
export class Informants<Answer extends { readonly epoch: number }> {
  readonly #optionsFor: (host: StoreHost) => ClientOptions;
  readonly #ask: (client: StoreClient, host: StoreHost) => Promise<Answer>;
  readonly #texts: InformantTexts;
  readonly #clients = new Map<string, StoreClient>();
  /** The epoch of the newest answer: an older answer does not lead back. */
  #epoch = -1;
  #isClosed = false;

  constructor(
    optionsFor: (host: StoreHost) => ClientOptions,
    ask: (client: StoreClient, host: StoreHost) => Promise<Answer>,
    texts: InformantTexts,
  ) {
    this.#optionsFor = optionsFor;
    this.#ask = ask;
    this.#texts = texts;
  }

  async newest(hosts: readonly StoreHost[]): Promise<Answer> {
    const create = await clientLibrary();
    const answers = await Promise.allSettled(hosts.map(async (host) => this.#answerOf(create, host)));
    const all = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const newest = all.toSorted((one, other) => other.epoch - one.epoch)[0];
    if (newest === undefined) {
      const [first] = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []));
      throw new Error(`${this.#texts.none}: ${first}`);
    }
    // Where most of them say so, the store was set up anew.
    const isMinority = 2 * all.length <= answers.length;
    if (isMinority && newest.epoch < this.#epoch) throw new Error(this.#texts.former);
    this.#epoch = newest.epoch;
    return newest;
  }

  close(): void {
    this.#isClosed = true;
    for (const name of this.#clients.keys()) this.#forget(name);
  }

  async #answerOf(create: CreateClient, host: StoreHost): Promise<Answer> {
    try {
      return await within(ANSWER_MS, this.#connected(create, host));
    } catch (error) {
      this.#forget(nameOf(host));
      throw error;
    }
  }

  async #connected(create: CreateClient, host: StoreHost): Promise<Answer> {
    let client = this.#clients.get(nameOf(host));
    if (client === undefined) {
      if (this.#isClosed) throw new Error('closed');
      client = create(this.#optionsFor(host));
      this.#clients.set(nameOf(host), client);
      // The next question meets the error.
      client.on('error', () => {});
      await client.connect();
    }
    return this.#ask(client, host);
  }

  #forget(name: string): void {
    discard(this.#clients.get(name));
    this.#clients.delete(name);
  }
}

/** The name of a server in logs and tables. */
export function nameOf({ host, port }: StoreHost): string {
  return `${host}:${port}`;
}

/** Secrets as they are and as a URL has them. */
export function withEncoded(secrets: readonly (string | undefined)[]): readonly string[] {
  const known = secrets.filter((secret) => secret !== undefined && secret !== '') as string[];
  return [...new Set(known.flatMap((secret) => [secret, encodeURIComponent(secret)]))];
}

/** Ends a connection at once, whatever its state. */
export function discard(client: StoreClient | undefined): void {
  try {
    client?.destroy();
  } catch {
    // The client is closed already.
  }
}
