import { isIPv6 } from 'node:net';

/** What a `redis+sentinel:` URL names: the sentinels, and how the primary that they watch is reached. */
export interface SentinelAddress {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** The name of the primary at the sentinels. */
  readonly name: string;
  readonly database: number;
  /** Whether the sentinels and the primary are reached over TLS. */
  readonly isTls: boolean;
  /** For the primary; undefined: without. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const SENTINEL_PORT = 26_379;
const parameters = ['db', 'sentinel_username', 'sentinel_password'] as const;

/** Whether a text has the scheme of Sentinel. */
export function namesSentinel(text: string): boolean {
  return /^rediss?\+sentinel:/.test(text);
}

/**
 * Reads `redis+sentinel://user:password@h1:26379,h2:26379/mymaster?db=0&sentinel_username=…&sentinel_password=…`, or
 * `rediss+sentinel:` for TLS. No general parser reads a URL with several hosts.
 *
 * @throws {TypeError} that says what is wrong, without any part of the URL, as it can be a password.
 */
export function readSentinelUrl(text: string): SentinelAddress {
  const parts = /^rediss?\+sentinel:\/\/(?:([^:@/?#]*)(?::([^:@/?#]*))?@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^?#]*))?$/;
  const found = parts.exec(text);
  if (found === null || /[^\x21-\x7E]|\\/.test(text)) {
    throw new TypeError('is not a URL: percent-encode special characters in users and passwords');
  }
  const [, username, password, hosts = '', name = '', query] = found;
  if (name === '')
    throw new TypeError('names no primary: write its name at the sentinels after the hosts, as /mymaster');
  const set = readParameters(query);
  const database = set.get('db') ?? '0';
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(database)) throw new TypeError('has a db that is not a database number');
  return {
    sentinels: hosts.split(',').map(readHost),
    name: decoded(name),
    database: Number(database),
    isTls: text.startsWith('rediss'),
    username: unlessEmpty(username),
    password: unlessEmpty(password),
    sentinelUsername: unlessEmpty(set.get('sentinel_username')),
    sentinelPassword: unlessEmpty(set.get('sentinel_password')),
  };
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

function readHost(text: string): SentinelAddress['sentinels'][number] {
  const [, inBrackets, name, port] = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = inBrackets ?? name;
  const number = port === undefined ? SENTINEL_PORT : Number(port);
  if (host === undefined || (inBrackets !== undefined && !isIPv6(inBrackets)) || number < 1 || number > 65_535) {
    throw new TypeError('has a host that is not of the form host:port');
  }
  return { host, port: number };
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decoded(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError('has a user, password or name that is not percent-encoded');
  }
}
