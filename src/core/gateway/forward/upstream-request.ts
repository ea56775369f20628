import { hopByHop, nominatedBy, withoutCookies } from '../../lib/http/header-fields.ts';
import { ENCODED_SLASH } from '../../lib/http/path-flaw.ts';
import { remembered } from '../../lib/remembered.ts';
import { OWN_COOKIE, ownCookies } from '../../model/fields.ts';
import { isNeverFromClients, isRespelled, plainFieldName } from '../../model/client-fields.ts';
import type { StatesCaller } from '../../model/on-route.ts';
import type { Call } from '../../model/call.ts';
import type { GrantedCall } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';
import { createIdentityHeaders } from './identity-headers.ts';

const traceFields: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** Fields by which clients authenticate themselves to the front door, and prove that they have a key. */
const forFrontDoor: ReadonlySet<string> = new Set(['authorization', 'dpop']);

/** The header section for the upstream, as undici takes it: name, value, name, value, … */
export type BuildRequestHeaders = (
  granted: Pick<GrantedCall, 'call' | 'grant' | 'credential'>,
  /** `Accept-Encoding` in the place of the client's; undefined: the client's own. */
  acceptEncoding?: 'identity',
) => string[];

/**
 * Creates the header section that a route sends upstream: the client's fields that are for the upstream, then those of
 * the gateway. A name with `_` for `-` counts as the name: CGI and WSGI make one variable of both, and some servers
 * treat every character alike that is no letter or digit.
 *
 * @param claimed The identity headers of all routes, as `identityNames` returns them.
 * @param states Make the values of the statements of its upstream.
 */
export function createRequestHeaders(
  route: Route,
  publicUrl: string,
  claimed: ReadonlyMap<string, string>,
  states: readonly StatesCaller[] = [],
): BuildRequestHeaders {
  const identity = createIdentityHeaders(route, states);
  const { ownFields } = route.upstream;
  const { protocol, host } = new URL(publicUrl);
  const removed = route.isFrontDoor ? ownCookies.admin : ownCookies.all;
  const constant = ['x-forwarded-proto', protocol.slice(0, -1), 'x-forwarded-host', host];
  const isForUpstream = remembered((name) => {
    const plain = plainFieldName(name);
    return (
      !hopByHop.has(plain) &&
      (!isNeverFromClients(plain) || (route.isFrontDoor && forFrontDoor.has(name))) &&
      !claimed.has(plain) &&
      ownFields?.names.has(plain) !== true &&
      // Added below, if they are valid.
      !traceFields.has(plain) &&
      // On an MCP route, session and event ids are added below as the upstream's own, once they are proved to be the
      // caller's.
      !(route.protocol === 'mcp' && (plain === 'mcp-session-id' || plain === 'last-event-id')) &&
      !isRespelled(name, plain)
    );
  });

  return ({ call, grant, credential }, acceptEncoding) => {
    const { raw, names, connection } = call.fields;
    const nominated = connection === undefined ? undefined : nominatedBy(connection);
    const headers: string[] = [];
    for (let i = 0; i < names.length; i += 1) {
      const name = names[i] as string;
      if (!isForUpstream(name) || nominated?.has(name) === true) continue;
      if (acceptEncoding !== undefined && name === 'accept-encoding') continue;
      // The body has changed: the upstream's own handles are shorter than those that clients see.
      if (name === 'content-length' && grant.action.body !== undefined) continue;
      if (name === 'mcp-name' && grant.action.mcpName !== undefined) {
        headers.push(raw[2 * i] as string, grant.action.mcpName);
        continue;
      }
      if (name === 'cookie') {
        const field = raw[2 * i + 1] as string;
        const cookies = field.includes(OWN_COOKIE) ? withoutCookies(removed, field) : field;
        if (cookies !== '') headers.push(raw[2 * i] as string, cookies);
        continue;
      }
      headers.push(raw[2 * i] as string, raw[2 * i + 1] as string);
    }
    headers.push('x-forwarded-for', call.forwardedFor, ...constant, 'x-request-id', call.id);
    if (call.trace !== undefined) {
      headers.push('traceparent', call.trace.traceparent);
      if (call.trace.tracestate !== undefined) headers.push('tracestate', call.trace.tracestate);
    }
    if (acceptEncoding !== undefined) headers.push('accept-encoding', acceptEncoding);
    if (grant.action.sessionId !== undefined) headers.push('mcp-session-id', grant.action.sessionId);
    if (grant.action.lastEventId !== undefined) headers.push('last-event-id', grant.action.lastEventId);
    if (grant.principal !== undefined) identity.addTo(headers, grant.principal, call.decision);
    if (credential !== undefined) headers.push('authorization', credential);
    ownFields?.addTo(headers, grant.principal);
    return headers;
  };
}

/** The path as the client spelled it: the decision is on `%2F`, and the upstream gets an encoded slash as it came. */
export function receivedPath({ path, request }: Pick<Call, 'path' | 'request'>): string {
  return path.includes(ENCODED_SLASH) ? ((request.url ?? '').split('?', 1)[0] ?? '') : path;
}

/**
 * Creates the path and query for the upstream: the matched part is replaced. The rest and the query are kept byte for
 * byte if the route passes them. Otherwise they are dropped, even if an earlier guard is missing.
 */
export function createUpstreamPath(route: Route): (path: string, query: string) => string {
  const matched = route.path === '/' ? 0 : route.path.length;
  const { path: base } = route.upstream;
  const rest = (path: string): string => (route.below === 'refuse' ? '' : path.slice(matched));
  return (path, query) => (base + rest(path) || '/') + (route.query === 'refuse' ? '' : query);
}
