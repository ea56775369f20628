import { isIPv6 } from 'node:net';
import { percentDecoded } from '../../core/lib/http/path-flaw.ts';

/** A server of a store or of what watches it. */
export interface StoreHost {
  readonly host: string;
  readonly port: number;
}

interface StoreAddress {
  readonly hosts: readonly StoreHost[];
  /** Whether all servers are reached over TLS. */
  readonly isTls: boolean;
  /** For the servers of the store; undefined: without. */
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** The servers of a `redis+cluster:` URL, which know the others of their cluster. */
export type ClusterAddress = StoreAddress;

/** The sentinels of a `redis+sentinel:` URL, and how the primary that they watch is reached. */
export interface SentinelAddress extends StoreAddress {
  /** The name of the primary at the sentinels. */
  readonly name: string;
  readonly database: number;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const parameters = ['db', 'sentinel_username', 'sentinel_password'] as const;

/** What reads the URL of each kind of store of several servers, by its scheme after `redis+` or `rediss+`. */
export const kinds = { sentinel: readSentinelUrl, cluster: readClusterUrl } as const;

/** The kind of the store of a URL; undefined: one server, or no URL of a store. */
export function kindOf(text: string): keyof typeof kinds | undefined {
  const [, kind = ''] = /^rediss?\+([a-z]+):/.exec(text) ?? [];
  return Object.hasOwn(kinds, kind) ? (kind as keyof typeof kinds) : undefined;
}

/**
 * Reads `redis+cluster://user:password@h1:6379,h2:6379`, or `rediss+cluster:` for TLS.
 *
 * @throws {TypeError} that says what is wrong, without any part of the URL, as it can be a password.
 */
export function readClusterUrl(text: string): ClusterAddress {
  const { address, path, query } = readAddress(text, 6379);
  if (path !== '' || query !== undefined) throw new TypeError('has a path or query: a cluster has database 0 alone');
  return address;
}

/**
 * Reads `redis+sentinel://user:password@h1:26379,h2:26379/mymaster?db=0&sentinel_username=…&sentinel_password=…`, or
 * `rediss+sentinel:` for TLS.
 *
 * @throws {TypeError} that says what is wrong, without any part of the URL, as it can be a password.
 */
export function readSentinelUrl(text: string): SentinelAddress {
  const { address, path: name, query } = readAddress(text, 26_379);
  if (name === '')
    throw new TypeError('names no primary: write its name at the sentinels after the hosts, as /mymaster');
  const set = readParameters(query);
  const database = set.get('db') ?? '0';
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(database)) throw new TypeError('has a db that is not a database number');
  return {
    ...address,
    name: decoded(name),
    database: Number(database),
    sentinelUsername: unlessEmpty(set.get('sentinel_username')),
    sentinelPassword: unlessEmpty(set.get('sentinel_password')),
  };
}

/** No general parser reads a URL with several hosts. The path and the query are still percent-encoded. */
function readAddress(text: string, defaultPort: number) {
  const parts = /^rediss?\+[a-z]+:\/\/(?:([^:@/?#]*)(?::([^:@/?#]*))?@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^?#]*))?$/;
  const found = parts.exec(text);
  if (found === null || /[^\x21-\x7E]|\\/.test(text)) {
    throw new TypeError('is not a URL: percent-encode special characters in users and passwords');
  }
  const [, username, password, hosts = '', path = '', query] = found;
  const address: StoreAddress = {
    hosts: hosts.split(',').map((host) => readHost(host, defaultPort)),
    isTls: text.startsWith('rediss'),
    username: unlessEmpty(username),
    password: unlessEmpty(password),
  };
  return { address, path, query };
}

/** The parameters of a query, still percent-encoded. */
function readParameters(query: string | undefined): ReadonlyMap<string, string> {
  const set = new Map<string, string>();
  for (const pair of query === undefined ? [] : query.split('&')) {
    const at = pair.indexOf('=');
    const key = parameters.find((each) => at !== -1 && each === pair.slice(0, at));
    if (key === undefined) throw new TypeError(`has a parameter besides ${parameters.join(', ')}`);
    if (set.has(key)) throw new TypeError(`has ${key} twice`);
    set.set(key, pair.slice(at + 1));
  }
  return set;
}

function readHost(text: string, defaultPort: number): StoreHost {
  const [, inBrackets, name, port] = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = inBrackets ?? name;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || (inBrackets !== undefined && !isIPv6(inBrackets)) || number < 1 || number > 65_535) {
    throw new TypeError('has a host that is not of the form host:port');
  }
  return { host, port: number };
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decoded(text);
}

function decoded(text: string): string {
  const plain = percentDecoded(text);
  if (plain === undefined) throw new TypeError('has a user, password or name that is not percent-encoded');
  return plain;
}
