import { setTimeout } from 'node:timers/promises';
import type { ClusterAddress, StoreHost } from './store-url.ts';
import {
  clientLibrary,
  type ClientOptions,
  discard,
  failover,
  Informants,
  nameOf,
  optionsOf,
  type StoreClient,
  type StoreFinder,
  type StoreServers,
  withEncoded,
} from './clients.ts';

const SLOTS = 16_384;
/** How often one command is sent, and the pause while its keys move: together less than a command may take. */
const MAX_TRIES = 8;
const TRY_AGAIN_MS = 20;
/** How many keys are tried to find one of each server. */
const MAX_KEYS = 4_096;

interface Topology {
  readonly epoch: number;
  /** The master of each slot. */
  readonly masters: readonly StoreHost[];
}

/** Finds the masters of a Redis Cluster. */
export class ClusterFinder implements StoreFinder {
  readonly watchEveryMs = failover.watchEveryMs;
  readonly longestRetryMs = failover.longestRetryMs;
  readonly secrets: readonly string[];
  readonly #address: ClusterAddress;
  readonly #informants: Informants<Topology>;
  /** Every server that was a master in the last topology, by its name. They may replace those of the URL. */
  #masters: ReadonlyMap<string, StoreHost> = new Map();

  constructor(address: ClusterAddress) {
    this.#address = address;
    this.secrets = withEncoded([address.password]);
    this.#informants = new Informants((host) => optionsOf(host, address.isTls, address), topologyOf, {
      none: 'no server names the masters of the cluster',
      former: 'the servers that answer name former masters',
    });
  }

  async find(options: ClientOptions): Promise<StoreServers> {
    const [create, { default: slotOf }] = await Promise.all([clientLibrary(), import('cluster-key-slot')]);
    const clientOf = (host: StoreHost): StoreClient =>
      create({ ...options, ...optionsOf(host, this.#address.isTls, this.#address) });
    return new ClusterServers(await this.#topology(), clientOf, slotOf);
  }

  async hasMoved(servers: StoreServers): Promise<boolean> {
    if (!(servers instanceof ClusterServers)) throw new TypeError('not the servers of a cluster');
    return this.#topology().then(
      (topology) => servers.follow(topology),
      // Servers that do not answer this question are no reason to leave those that serve.
      () => false,
    );
  }

  close(): void {
    this.#informants.close();
  }

  async #topology(): Promise<Topology> {
    const known = this.#address.hosts.map((host) => [nameOf(host), host] as const);
    const topology = await this.#informants.newest([...new Map([...known, ...this.#masters]).values()]);
    this.#masters = byName(topology.masters);
    return topology;
  }
}

function byName(masters: readonly StoreHost[]): ReadonlyMap<string, StoreHost> {
  return new Map(Array.from(new Set(masters), (host) => [nameOf(host), host]));
}

/** Asks a server for the topology. One that is cut off from most masters knows that, and gives none. */
async function topologyOf(client: StoreClient, asked: StoreHost): Promise<Topology> {
  const [about, ranges] = await Promise.all([client.clusterInfo(), client.clusterSlots()]);
  const [, state] = /^cluster_state:(\w+)/m.exec(about) ?? [];
  const [, epoch] = /^cluster_current_epoch:([0-9]+)/m.exec(about) ?? [];
  if (state !== 'ok' || epoch === undefined) throw new Error(`CLUSTERDOWN by ${nameOf(asked)}`);
  const masters: StoreHost[] = [];
  for (const { from, to, master } of ranges.toSorted((one, other) => one.from - other.from)) {
    if (from !== masters.length) break;
    // A server that does not know its own address leaves it out.
    const host: StoreHost = { host: master.host || asked.host, port: master.port };
    masters.push(...Array.from({ length: to + 1 - from }, () => host));
  }
  if (masters.length !== SLOTS) throw new Error('CLUSTERDOWN: some slots have no master');
  return { epoch: Number(epoch), masters };
}

/**
 * The masters of a Redis Cluster. The cluster client of `@redis/client` does not notice a master that has failed, and
 * waits without limit for one that has stopped.
 */
class ClusterServers implements StoreServers {
  readonly #clientOf: (host: StoreHost) => StoreClient;
  readonly #slotOf: (key: string) => number;
  /** The master of each slot. */
  #masters: StoreHost[];
  readonly #clients = new Map<string, { readonly client: StoreClient; readonly connected: Promise<unknown> }>();
  #onError: (error: unknown) => void = () => {};

  constructor({ masters }: Topology, clientOf: (host: StoreHost) => StoreClient, slotOf: (key: string) => number) {
    this.#masters = [...masters];
    this.#clientOf = clientOf;
    this.#slotOf = slotOf;
  }

  async connect(onError: (error: unknown) => void): Promise<void> {
    this.#onError = onError;
    await Promise.all(Array.from(byName(this.#masters).values(), (host) => this.#connected(host)));
  }

  get isReady(): boolean {
    return [...this.#clients.values()].every(({ client }) => client.isReady);
  }

  async send<Value>(key: string, command: (client: StoreClient) => Promise<Value>): Promise<Value> {
    const slot = this.#slotOf(key);
    let [host, isAsking] = [this.#masterOf(slot), false];
    for (let tries = 1; ; tries += 1) {
      // The same command again, at another server.
      const client = await this.#connected(host);
      try {
        // For the next command of this connection alone.
        if (isAsking) void client.sendCommand(['ASKING']).catch(() => {});
        return await command(client);
      } catch (error) {
        const redirection =
          tries < MAX_TRIES && error instanceof Error ? redirectionIn(error.message, host) : undefined;
        if (redirection === undefined) throw error;
        isAsking = redirection.kind === 'ASK';
        if (redirection.kind === 'MOVED') this.#masters[slot] = redirection.host;
        // The slot is on its way to another server, with some of the keys.
        if (redirection.kind === 'TRYAGAIN') await setTimeout(TRY_AGAIN_MS);
        host = isAsking ? redirection.host : this.#masterOf(slot);
      }
    }
  }

  serverOf(key: string): string {
    return nameOf(this.#masterOf(this.#slotOf(key)));
  }

  keys(prefix: string): Iterable<string> {
    const keys = new Map<string, string>();
    const servers = byName(this.#masters).size;
    for (let number = 0; number < MAX_KEYS && keys.size < servers; number += 1) {
      const key = `${prefix}${number}`;
      keys.set(this.serverOf(key), key);
    }
    return keys.values();
  }

  /**
   * Takes over a newer topology. Returns whether a server is no longer a master: it may still take writes that its
   * successor lacks.
   */
  follow({ masters }: Topology): boolean {
    const after = byName(masters);
    if ([...byName(this.#masters).keys()].some((name) => !after.has(name))) return true;
    this.#masters = [...masters];
    return false;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#clients.values(), ({ client }) => client.close()));
  }

  discard(): void {
    for (const { client } of this.#clients.values()) discard(client);
  }

  #masterOf(slot: number): StoreHost {
    return this.#masters[slot] as StoreHost;
  }

  async #connected(host: StoreHost): Promise<StoreClient> {
    let known = this.#clients.get(nameOf(host));
    if (known === undefined) {
      const client = this.#clientOf(host);
      // Without a listener an error would end the process.
      client.on('error', (error: unknown) => this.#onError(error));
      known = { client, connected: client.connect() };
      this.#clients.set(nameOf(host), known);
    }
    await known.connected;
    return known.client;
  }
}

/** Where a command must be sent instead. A server that does not know the address leaves out the host. */
function redirectionIn(
  message: string,
  asked: StoreHost,
): { readonly kind: string; readonly host: StoreHost } | undefined {
  const [, kind, host = '', port] = /^(MOVED|ASK|TRYAGAIN)\b(?: [0-9]+ (.*):([0-9]+)$)?/.exec(message) ?? [];
  return kind === undefined ? undefined : { kind, host: { host: host || asked.host, port: Number(port) } };
}
