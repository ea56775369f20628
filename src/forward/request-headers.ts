import { hopByHop } from '../lib/hop-by-hop.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, UpstreamCredential } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';

/**
 * What a client must not say to an upstream: its own credential, where it comes from, and that the method or path were
 * others than those decided on.
 */
const neverFromClients: ReadonlySet<string> = new Set([
  'authorization',
  'cf-connecting-ip',
  'client-cert',
  'client-cert-chain',
  'client-ip',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forwarded',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-real-ip',
  'x-request-id',
  'x-url-scheme',
  'x-script-name',
  'x-scheme',
  'x-proxyuser-ip',
  'x-path-info',
  'x-host',
  'x-forward-for',
  'remote-user',
  'front-end-https',
  'fastly-client-ip',
  'cluster-client-ip',
  'base-url',
  'x-rewrite-url',
  'true-client-ip',
]);
const prefixesNeverFromClients = [
  'x-appengine-',
  'x-azure-',
  'x-envoy-',
  'x-forwarded-',
  'x-http-',
  'x-original-',
  'x-override-',
  'x-remote-',
  'x-ssl-',
];

/** Names that are remembered at most; callers choose names, and must not choose how much we remember. */
const MAX_VERDICTS = 1024;

/** The header section for the upstream, as undici takes it: name, value, name, value, … */
export type BuildRequestHeaders = (
  call: Call,
  grant: Grant,
  credential: UpstreamCredential,
  uncompressed: boolean,
) => string[];

/**
 * Creates the header section that a route sends upstream: the client's fields without those that are not for the
 * upstream, then ours. A name with `_` for `-` counts as the name: CGI and WSGI make one variable of both, and
 * some servers one of whatever is no letter or digit.
 */
export function createRequestHeaders(route: Route, publicUrl: string): BuildRequestHeaders {
  const identity = [...route.upstream.identity];
  const identityNames = new Set(identity.map(([name]) => plainName(name)));
  const { protocol, host } = new URL(publicUrl);
  const constant = ['x-forwarded-proto', protocol.slice(0, -1), 'x-forwarded-host', host];
  // On an MCP route a session id goes on only as the upstream's own, once it is proved to be this caller's.
  if (route.protocol === 'mcp') identityNames.add('mcp-session-id');
  const verdicts = new Map<string, boolean>();

  function isForUpstream(name: string): boolean {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const plain = plainName(name);
    const verdict =
      !hopByHop.has(plain) &&
      !neverFromClients.has(plain) &&
      !identityNames.has(plain) &&
      !prefixesNeverFromClients.some((prefix) => plain.startsWith(prefix)) &&
      // Another spelling of a field that we read ourselves would be a second one to some upstreams.
      (plain === name || !(plain.startsWith('content-') || plain.startsWith('mcp-')));
    if (verdicts.size < MAX_VERDICTS) verdicts.set(name, verdict);
    return verdict;
  }

  return (call, grant, credential, uncompressed) => {
    const { raw, names, connection } = call.fields;
    const nominated = connection === undefined ? undefined : nominatedBy(connection);
    const headers: string[] = [];
    for (const [i, name] of names.entries()) {
      if (!isForUpstream(name) || nominated?.has(name) === true) continue;
      if (uncompressed && name === 'accept-encoding') continue;
      // The upstream's own handles are shorter than those that clients see.
      if (name === 'content-length' && grant.action.body !== undefined) continue;
      if (name === 'mcp-name' && grant.action.mcpName !== undefined) {
        headers.push(raw[2 * i] as string, grant.action.mcpName);
        continue;
      }
      headers.push(raw[2 * i] as string, raw[2 * i + 1] as string);
    }
    headers.push('x-forwarded-for', call.peer, ...constant, 'x-request-id', call.id);
    if (uncompressed) headers.push('accept-encoding', 'identity');
    if (grant.action.sessionId !== undefined) headers.push('mcp-session-id', grant.action.sessionId);
    if (grant.principal !== undefined) addIdentity(headers, identity, grant.principal);
    if (credential !== undefined) headers.push('authorization', credential);
    return headers;
  };
}

/** A lower-case name as CGI-like servers read it. */
function plainName(name: string): string {
  return name.replaceAll(/[^a-z0-9]/g, '-');
}

/** The field names of a `Connection` header; undefined for the two values that everybody sends. */
export function nominatedBy(connection: string): ReadonlySet<string> | undefined {
  const options = connection.toLowerCase();
  if (options === 'keep-alive' || options === 'close') return undefined;
  return new Set(options.split(',').map((option) => option.trim()));
}

function addIdentity(headers: string[], identity: readonly (readonly [string, string])[], principal: Principal): void {
  for (const [name, claim] of identity) {
    const value = claimOf(principal, claim);
    if (value !== undefined) headers.push(name, value);
  }
}

function claimOf(principal: Principal, claim: string): string | undefined {
  if (claim === 'client_id' && principal.clientId !== undefined) return headerValue(principal.clientId);
  return Object.hasOwn(principal.claims, claim) ? headerValue(principal.claims[claim]) : undefined;
}

/**
 * A claim as a field value: scalars as they are, a list of scalars comma-separated. What a field cannot carry (controls,
 * non-ASCII), a comma within a list and `%` itself are percent-encoded as UTF-8, so that it decodes to exactly the claim
 * and can neither end the line nor add a member.
 *
 * @throws {Denial} `claim.denied` for an object, which has no such form.
 */
function headerValue(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((entry) => scalar(entry).replaceAll(',', '%2C')).join(',');
  return scalar(value);
}

function scalar(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new Denial('claim.denied', 'a claim for an identity header is neither a scalar nor a list of scalars');
  }
  const text = String(value);
  if (plainValue.test(text)) return text;
  return text.toWellFormed().replace(/[^ -$&-~]|^ | $/gu, (character) => encodeURIComponent(character));
}

const plainValue = /^[!-$&-~](?:[ -$&-~]*[!-$&-~])?$/;
