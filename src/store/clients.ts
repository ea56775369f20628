/**
 * The clients of a store, by the kind of its URL: one Redis or Valkey, or the primary that sentinels name.
 *
 * @module
 */

import type { createClient } from '@redis/client';
import { within } from '../lib/deadline.ts';
import { namesSentinel, readSentinelUrl, type SentinelAddress } from '../lib/sentinel-url.ts';

/** A client of `@redis/client`, as this folder sees it. */
export type StoreClient = ReturnType<typeof createClient>;
type ClientOptions = NonNullable<Parameters<typeof createClient>[0]>;
type Create = (options: ClientOptions) => StoreClient;

/** A client that is not connected yet, and the server that it is for: `host:port`, `''` for the only one. */
interface MadeClient {
  readonly client: StoreClient;
  readonly primary: string;
}

/** Makes the clients of one store. */
export interface StoreClients {
  /** Rejects if no sentinel names a server. */
  make(options: ClientOptions): Promise<MadeClient>;
  /** How often {@link StoreClients.hasMoved} is to be asked; undefined: never. */
  readonly watchEveryMs: number | undefined;
  /** Whether another server than `primary` takes writes by now. Never rejects. */
  hasMoved(primary: string): Promise<boolean>;
  /** The longest pause between two attempts to connect. */
  readonly longestRetryMs: number;
  /** What no message may show. */
  readonly secrets: readonly string[];
  close(): void;
}

/** The time limit for connecting. */
export const CONNECT_MS = 1000;

const LONGEST_RETRY_MS = 5000;
/** A new primary is used within five seconds, also after an attempt to connect to the one that has ended. */
const LONGEST_SENTINEL_RETRY_MS = 500;
const WATCH_EVERY_MS = 1000;
/** How long a sentinel has for its answer, with connecting. */
const SENTINEL_MS = 500;

/** What the clients of all kinds of stores have in common. */
const common = {
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const satisfies ClientOptions;

/** Chooses how the clients of `url` are made. It connects to nothing yet. */
export function clientsOf(url: string): StoreClients {
  return namesSentinel(url) ? new SentinelClients(readSentinelUrl(url)) : clientsOfOne(url);
}

function clientsOfOne(url: string): StoreClients {
  const { password } = new URL(url);
  return {
    async make(options) {
      const create = await loaded();
      return { client: create({ ...common, ...options, url, socket: { ...noRetries } }), primary: '' };
    },
    watchEveryMs: undefined,
    hasMoved: async () => false,
    longestRetryMs: LONGEST_RETRY_MS,
    secrets: withEncoded([decodeURIComponent(password), password]),
    close() {},
  };
}

/** What a sentinel says of the primary. The highest epoch is the newest. */
interface Named {
  readonly host: string;
  readonly port: number;
  readonly epoch: number;
}

/**
 * The clients of the primary that sentinels name. All are asked, and the newest answer counts: a sentinel that was cut
 * off still names the former primary.
 */
class SentinelClients implements StoreClients {
  readonly watchEveryMs = WATCH_EVERY_MS;
  readonly longestRetryMs = LONGEST_SENTINEL_RETRY_MS;
  readonly secrets: readonly string[];
  readonly #address: SentinelAddress;
  /** The connection to each sentinel, by its place in the address. */
  readonly #asked = new Map<number, StoreClient>();
  /** That of the newest answer: the older one of a few does not lead back. */
  #epoch = -1;
  #isClosed = false;

  constructor(address: SentinelAddress) {
    this.#address = address;
    this.secrets = withEncoded([address.password, address.sentinelPassword]);
  }

  async make(options: ClientOptions): Promise<MadeClient> {
    const create = await loaded();
    const { database, username, password } = this.#address;
    const named = await this.#primary();
    const socket = this.#socketTo(named);
    const client = create({ ...common, ...options, ...credentials(username, password), database, socket });
    return { client, primary: nameOf(named) };
  }

  async hasMoved(primary: string): Promise<boolean> {
    return this.#primary().then(
      (named) => nameOf(named) !== primary,
      // Sentinels that do not answer are no reason to leave a primary that does.
      () => false,
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const index of this.#asked.keys()) this.#forget(index);
  }

  async #primary(): Promise<Named> {
    const create = await loaded();
    const answers = await Promise.allSettled(
      this.#address.sentinels.map(async (sentinel, index) => this.#ask(create, sentinel, index)),
    );
    const all = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const named = all.toSorted((one, other) => other.epoch - one.epoch)[0];
    if (named === undefined) {
      const [first] = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []));
      throw new Error(`no sentinel names a primary: ${first}`);
    }
    // Where most of them say so, the sentinels were set up anew.
    const isMinority = 2 * all.length <= answers.length;
    if (isMinority && named.epoch < this.#epoch) throw new Error('the sentinels that answer name a former primary');
    this.#epoch = named.epoch;
    return named;
  }

  async #ask(create: Create, sentinel: SentinelAddress['sentinels'][number], index: number): Promise<Named> {
    try {
      return await within(SENTINEL_MS, this.#answerOf(create, sentinel, index));
    } catch (error) {
      this.#forget(index);
      throw error;
    }
  }

  async #answerOf(create: Create, sentinel: SentinelAddress['sentinels'][number], index: number): Promise<Named> {
    let client = this.#asked.get(index);
    if (client === undefined) {
      if (this.#isClosed) throw new Error('closed');
      const { sentinelUsername, sentinelPassword } = this.#address;
      client = create({
        ...common,
        ...credentials(sentinelUsername, sentinelPassword),
        socket: this.#socketTo(sentinel),
      });
      this.#asked.set(index, client);
      // Without a listener an error would end the process. The next question meets it.
      client.on('error', () => {});
      await client.connect();
    }
    return namedIn(await client.sendCommand(['SENTINEL', 'MASTER', this.#address.name]));
  }

  #forget(index: number): void {
    discard(this.#asked.get(index));
    this.#asked.delete(index);
  }

  #socketTo({ host, port }: { readonly host: string; readonly port: number }): NonNullable<ClientOptions['socket']> {
    return { ...noRetries, host, port, ...(this.#address.isTls && { tls: true as const }) };
  }
}

/** The client would call a connection ready before any answer, so that reconnecting is done elsewhere. */
const noRetries = { connectTimeout: CONNECT_MS, reconnectStrategy: false } as const;

/** Loaded only when a store is used: a gateway without a shared store does not need it. */
async function loaded(): Promise<Create> {
  const { createClient: create } = await import('@redis/client');
  return (options) => create(options);
}

function credentials(username: string | undefined, password: string | undefined): ClientOptions {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

/** Reads the answer of `SENTINEL MASTER`: names and values in turn. */
function namedIn(answer: unknown): Named {
  const texts = Array.isArray(answer) ? answer.map(String) : [];
  const valueOf = (name: string): string => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && text === name);
    return at === -1 ? '' : (texts[at + 1] ?? '');
  };
  const [host, port, epoch] = [valueOf('ip'), Number(valueOf('port')), Number(valueOf('config-epoch'))];
  if (host === '' || !Number.isInteger(port) || port < 1 || port > 65_535 || !Number.isInteger(epoch)) {
    throw new Error('a sentinel gives no address');
  }
  return { host, port, epoch };
}

function nameOf({ host, port }: Named): string {
  return `${host}:${port}`;
}

/** Secrets as they are and as a URL has them. */
function withEncoded(secrets: readonly (string | undefined)[]): readonly string[] {
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
