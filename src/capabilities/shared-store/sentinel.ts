import type { SentinelAddress, StoreHost } from './store-url.ts';
import {
  clientLibrary,
  type ClientOptions,
  failover,
  Informants,
  nameOf,
  OneServer,
  optionsOf,
  type StoreFinder,
  type StoreServers,
  withEncoded,
} from './clients.ts';

interface NamedPrimary extends StoreHost {
  readonly epoch: number;
}

/** Finds the primary that sentinels name. */
export class SentinelFinder implements StoreFinder {
  readonly watchEveryMs = failover.watchEveryMs;
  readonly longestRetryMs = failover.longestRetryMs;
  readonly secrets: readonly string[];
  readonly #address: SentinelAddress;
  readonly #sentinels: Informants<NamedPrimary>;

  constructor(address: SentinelAddress) {
    this.#address = address;
    const { password, sentinelUsername, sentinelPassword, isTls, name } = address;
    this.secrets = withEncoded([password, sentinelPassword]);
    this.#sentinels = new Informants(
      (sentinel) => optionsOf(sentinel, isTls, { username: sentinelUsername, password: sentinelPassword }),
      async (client) => namedIn(await client.sendCommand(['SENTINEL', 'MASTER', name])),
      { none: 'no sentinel names a primary', former: 'the sentinels that answer name a former primary' },
    );
  }

  async find(options: ClientOptions): Promise<StoreServers> {
    const create = await clientLibrary();
    const { database, isTls } = this.#address;
    const primary = await this.#primary();
    return new OneServer(
      create({ ...options, ...optionsOf(primary, isTls, this.#address), database }),
      nameOf(primary),
    );
  }

  async hasMoved(servers: StoreServers): Promise<boolean> {
    return this.#primary().then(
      (primary) => nameOf(primary) !== servers.serverOf(''),
      // Sentinels that do not answer are no reason to leave a primary that does.
      () => false,
    );
  }

  close(): void {
    this.#sentinels.close();
  }

  #primary(): Promise<NamedPrimary> {
    return this.#sentinels.newest(this.#address.hosts);
  }
}

/** Reads the answer of `SENTINEL MASTER`: names and values in turn. */
function namedIn(answer: unknown): NamedPrimary {
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
