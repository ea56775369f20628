import type { AuthorizationServer } from './authorization-server.ts';
import type { Policy } from './policy.ts';
import type { TokenForm } from './principal.ts';

/** The RFC 9728 §2 metadata of a protected resource, besides what follows from the route itself. */
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

/** What clients learn of proofs of possession, RFC 9449. */
export interface Proofs {
  /** Whether tokens that are not bound to a key are refused. */
  readonly required: boolean;
  /** Accepted `alg` of proofs. */
  readonly algorithms: readonly string[];
}

/** A rate limit: `requests` in each `perMs`, and up to `burst` at once. */
export interface Rate {
  readonly requests: number;
  readonly perMs: number;
  readonly burst: number;
}

/** A rate limit of callers. */
export interface CallerRate extends Rate {
  /** Whose calls are counted together; a token that names no actor or no client is counted by what it names. */
  readonly by: 'subject' | 'client' | 'actor';
}

/** A path whose callers the gateway authenticates and decides on: that of a route, or one that it answers itself. */
export interface Endpoint {
  readonly name: string;
  /** Canonical, `/` or without a trailing slash; matches whole segments. */
  readonly path: string;
  readonly protocol: 'http' | 'mcp';
  /** Accepted methods; undefined accepts all. */
  readonly methods: ReadonlySet<string> | undefined;
  /** Open to every caller, without token or policy. */
  readonly public: boolean;
  /** Whether the gateway answers it itself: only a token whose `aud` names it may decide on calls and tokens. */
  readonly isOwn: boolean;
  readonly resource: ResourceMetadata | undefined;
  /** In the order in which they introspect an opaque token; empty only if it is public. */
  readonly authorizationServers: readonly AuthorizationServer[];
  /** What its servers, all of them, want before a scope in requests; undefined: nothing. */
  readonly scopePrefix: string | undefined;
  /** `aud` must contain one of them exactly; empty only if it is public. */
  readonly audiences: readonly string[];
  readonly tokens: ReadonlySet<TokenForm>;
  /** Undefined: it takes no DPoP, and refuses tokens that are bound to such a key. */
  readonly proofs: Proofs | undefined;
  /** Undefined: any valid token for the audience passes. */
  readonly policy: Policy | undefined;
  /** Which scopes a 401 names: {@link firstScopes}. */
  readonly firstChallenge: 'policy' | 'supported' | 'none';
  /** Requests of one subject; undefined: unlimited. */
  readonly rate: CallerRate | undefined;
  /** What happens to a path below its own; always `pass` on an http route. */
  readonly below: 'refuse' | 'pass';
  /** What happens to an encoded slash in the path; default: `refuse`. */
  readonly encodedSlashes?: 'refuse' | 'pass';
  /** What happens to a query; always `pass` on an http route. */
  readonly query: 'refuse' | 'pass';
}
