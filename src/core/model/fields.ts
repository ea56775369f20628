/**
 * The header fields that decide something, by their member of {@link Fields}. Two readers of a request could choose
 * differently between two such fields: Node and upstreams join or drop duplicates silently, each in its own way. The
 * gateway refuses a request with two, even if their values are equal (CVE-2025-23167).
 */
export const decisiveFields = {
  accessControlRequestHeaders: 'access-control-request-headers',
  accessControlRequestMethod: 'access-control-request-method',
  authorization: 'authorization',
  contentEncoding: 'content-encoding',
  contentLength: 'content-length',
  contentType: 'content-type',
  dpop: 'dpop',
  expect: 'expect',
  host: 'host',
  lastEventId: 'last-event-id',
  mcpMethod: 'mcp-method',
  mcpName: 'mcp-name',
  mcpProtocolVersion: 'mcp-protocol-version',
  mcpSessionId: 'mcp-session-id',
  origin: 'origin',
  proxyAuthorization: 'proxy-authorization',
  transferEncoding: 'transfer-encoding',
  upgrade: 'upgrade',
} as const;

/** The header section of a request, read once: the decisive fields as members, all fields in `raw`. */
export interface Fields extends Readonly<Record<keyof typeof decisiveFields, string | undefined>> {
  /** Name, value, name, value, … as received. */
  readonly raw: readonly string[];
  /** The names in lower case; `names[i]` is the name of `raw[2 * i]`. */
  readonly names: readonly string[];
  /** All `Connection` fields, joined by commas. */
  readonly connection: string | undefined;
}

/** The values of every field with this name, in lower case, in the order of the header section. */
export function fieldValues({ names, raw }: Pick<Fields, 'names' | 'raw'>, wanted: string): readonly string[] {
  return names.flatMap((name, index) => (name === wanted ? [raw[2 * index + 1] as string] : []));
}

/** The name of the cookie of an operator's session. It is for the admin listener alone. */
export const ADMIN_COOKIE = 'sallyport_admin';

/** A part of the name of every cookie of ours. */
export const OWN_COOKIE = 'sallyport_';

/**
 * The cookies that an upstream neither gets nor sets. Browsers send a cookie to every port and path of a host: an
 * upstream could use an operator's session for the console, or a person's session at the front door. With a cookie of
 * such a name, it could sign a person in as another person. `admin`: the front door itself has the others.
 */
export const ownCookies = {
  admin: /^(?:__(?:Host|Secure)-)?sallyport_admin$/i,
  all: /^(?:__(?:Host|Secure)-)?sallyport_/i,
} as const;
