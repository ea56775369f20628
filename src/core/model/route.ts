import { prefixedScopes } from './authorization-server.ts';
import type { Endpoint } from './endpoint.ts';
import type { Principal } from './principal.ts';

/** A header field by which a capability tells an upstream of the caller. */
export interface Statement {
  /** Its name in lower case. */
  readonly header: string;
  /** The claims that it shows, besides who the caller is. Each is named as in a policy, by name or JSON Pointer. */
  readonly claims: readonly string[];
}

/** The header fields of the gateway itself for an upstream, such as an API key. Their values are secrets. */
export interface OwnFields {
  /** The `plainFieldName` of each: a client's own field with such a name does not reach the upstream. */
  readonly names: ReadonlySet<string>;
  /**
   * Adds name, value, name, value, …
   *
   * @param principal Undefined: the request has no caller. Fields that need one are then left out.
   */
  addTo(fields: string[], principal: Principal | undefined): void;
}

/**
 * Response fields that command a proxy or a browser in front of the upstream, in lower case. A proxy may serve a file
 * or another address (`X-Accel-*`, `X-Sendfile`, `X-Reproxy-URL`); a browser may clear or move data of the whole
 * origin. They reach the client only from an upstream that may send them.
 */
export const commandFields = [
  'alt-svc',
  'clear-site-data',
  'x-accel-charset',
  'x-accel-limit-rate',
  'x-accel-redirect',
  'x-lighttpd-send-file',
  'x-litespeed-location',
  'x-reproxy-file',
  'x-reproxy-url',
  'x-sendfile',
  'x-sendfile2',
] as const;

/** One of {@link commandFields}. */
export type CommandField = (typeof commandFields)[number];

/** The server behind a route, and what it learns about callers. */
export interface Upstream {
  /** `http://host:port`, without a path. */
  readonly origin: string;
  /** Replaces the route's matched path; `''` for the root, never with a trailing slash. */
  readonly path: string;
  /** Header name in lower case → the claim that it carries. */
  readonly identity: ReadonlyMap<string, string>;
  /** Further headers, beside or instead of the plain ones. No client may send one of them on any route. */
  readonly statements: readonly Statement[];
  /** Undefined: the gateway sends none. */
  readonly ownFields: OwnFields | undefined;
  /**
   * The `Authorization` of requests: `none`, `forward` for the client's own token, or the word of a capability that
   * makes one.
   */
  readonly token: string;
  /** Those of {@link commandFields} that reach the client. */
  readonly allowedCommands: readonly CommandField[];
  /** Whether `Location` of its answers reaches the client as it is. */
  readonly keepsLocations: boolean;
  /** How long an unused connection is kept. */
  readonly idleMs: number;
  /** The age after which a connection is replaced when it is next unused; undefined: no end. */
  readonly connectionLifetimeMs: number | undefined;
  readonly connectTimeoutMs: number;
  /** The timeout until the end of the response's header section. The body has no timeout. */
  readonly responseTimeoutMs: number;
}

/** An entry of `routes`, resolved: names are replaced by what they name. */
export interface Route extends Endpoint {
  readonly isOwn: false;
  /**
   * Whether it leads clients to the front door, which alone gets its own cookies, and what its clients authenticate
   * with.
   */
  readonly isFrontDoor: boolean;
  /** Whether the operator chose {@link tokens}; otherwise they are what the servers can validate. */
  readonly statesTokens: boolean;
  readonly upstream: Upstream;
  /** The idle time after which the gateway sends a comment into an event stream; undefined: never. */
  readonly keepaliveMs: number | undefined;
  /** How often the gateway introspects the token of an open stream again; undefined: the token only expires. */
  readonly revalidateMs: number | undefined;
  /** Whether the gateway answers a `tools/call` that no new token would help with a tool result; `http` elsewhere. */
  readonly finalRefusals: 'http' | 'tool_error';
  /** Whether the gateway forwards WebSocket upgrades. */
  readonly upgrade: 'websocket' | undefined;
  /** The settings of capabilities, which `Slot` reads; undefined: none. */
  readonly slots: ReadonlyMap<object, object> | undefined;
}

/** Whether a call of the endpoint goes on to an upstream. */
export function isRoute(endpoint: Endpoint): endpoint is Route {
  return !endpoint.isOwn;
}

/** Scopes as clients of a route must request them. */
export function requestedScopes({ scopePrefix }: Endpoint, scopes: readonly string[]): readonly string[] {
  return prefixedScopes(scopes, scopePrefix);
}

/** The scopes that a 401 of a route names, as policies have them; empty: none. */
export function firstScopes({ firstChallenge, policy, resource }: Endpoint): readonly string[] {
  const scopes = { policy: policy?.scope, supported: resource?.scopesSupported, none: [] }[firstChallenge];
  return scopes ?? [];
}
