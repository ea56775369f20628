import type { AuthorizationServer, ClientCredentials } from './authorization-server.ts';
import type { Policy } from './policy.ts';
import type { TokenForm } from './principal.ts';

/** What RFC 9728 §2 metadata says of a protected resource, besides what follows from the route itself. */
export interface ResourceMetadata {
  /** `resource_name`. */
  readonly name: string | undefined;
  readonly scopesSupported: readonly string[] | undefined;
  /** `resource_documentation`. */
  readonly documentation: string | undefined;
  /** `resource_policy_uri`. */
  readonly policyUri: string | undefined;
  /** `resource_tos_uri`. */
  readonly tosUri: string | undefined;
}

/** A new credential for the upstream by RFC 8693; asked of `server` with the client's token as the subject token. */
export interface TokenExchange extends ClientCredentials {
  readonly server: AuthorizationServer;
  /** Endpoint; undefined: `token_endpoint` of the server's discovered metadata. */
  readonly endpoint: string | undefined;
  readonly audience: string | undefined;
  readonly resource: string | undefined;
  /** Requested scopes; empty: the server decides. */
  readonly scope: readonly string[];
}

/** What the upstream gets as `Authorization`. The client's own token never, unless `forward` says so. */
export type UpstreamToken =
  | { readonly kind: 'none' }
  | { readonly kind: 'forward' }
  | { readonly kind: 'exchange'; readonly exchange: TokenExchange };

/** A server that knows nothing of users, and what we tell it about them. */
export interface Upstream {
  /** `http://host:port`, without a path. */
  readonly origin: string;
  /** Replaces the route's matched path; `''` for the root, never with a trailing slash. */
  readonly path: string;
  /** Header name in lower case → the claim that it carries. */
  readonly identity: ReadonlyMap<string, string>;
  readonly token: UpstreamToken;
  readonly connectTimeoutMs: number;
  /** Until the response's headers; a stream has no end time of its own. */
  readonly responseTimeoutMs: number;
}

/** One entry of `routes`, resolved: names are replaced by what they name. */
export interface Route {
  readonly name: string;
  /** Canonical, `/` or without a trailing slash; matches whole segments. */
  readonly path: string;
  readonly protocol: 'http' | 'mcp';
  /** Accepted methods; undefined accepts all. */
  readonly methods: ReadonlySet<string> | undefined;
  /** Open to everybody, without token or policy. */
  readonly public: boolean;
  readonly resource: ResourceMetadata | undefined;
  /** In the order in which they are asked about an opaque token; empty only on a public route. */
  readonly authorizationServers: readonly AuthorizationServer[];
  /** `aud` must contain one of them exactly; empty only on a public route. */
  readonly audiences: readonly string[];
  readonly tokens: ReadonlySet<TokenForm>;
  /** Absent: any valid token for the audience. */
  readonly policy: Policy | undefined;
  readonly upstream: Upstream;
  /** A comment goes into an event stream that was quiet for this long; undefined: never. */
  readonly keepaliveMs: number | undefined;
  /** How often the token of an open stream is asked about again; undefined: it only expires. */
  readonly revalidateMs: number | undefined;
  /** Whether WebSocket upgrades are let through. */
  readonly upgrade: 'websocket' | undefined;
}
