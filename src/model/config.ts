import type { Policy } from './policy.ts';
import type { Route } from './route.ts';

/** A socket address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** How we authenticate at an authorization server's endpoints, RFC 6749 §2.3.1. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post';
}

/** How JWT access tokens of one authorization server are verified. */
export interface JwtValidation {
  /** The only accepted `alg` values: asymmetric ones, never `none`. */
  readonly algorithms: readonly string[];
  /** Accepted `typ` values, lower case, without `application/`; undefined: at+jwt, JWT or absent. */
  readonly types: readonly string[] | undefined;
  /** JWK Set location; undefined: `jwks_uri` of the discovered metadata. */
  readonly jwksUri: string | undefined;
}

/** How opaque tokens of one authorization server are explained, RFC 7662. */
export interface Introspection extends ClientCredentials {
  /** Endpoint; undefined: `introspection_endpoint` of the discovered metadata. */
  readonly endpoint: string | undefined;
  /** Longest reuse of a positive answer; never past `exp`; 0 asks every time. */
  readonly cacheMs: number;
  /** Whether an answer without `aud` is refused. */
  readonly audience: 'required' | 'optional';
}

/** An authorization server that routes may trust. */
export interface AuthorizationServer {
  /** Its key in `authorization_servers`, the label in metrics. */
  readonly name: string;
  /** Compared and advertised byte for byte. */
  readonly issuer: string;
  /** The base URL where *we* reach it: `backchannel`, or else the issuer. */
  readonly backchannel: string;
  readonly jwt: JwtValidation | undefined;
  readonly introspection: Introspection | undefined;
  /** All the leniency there is on `exp`, `nbf` and `iat`. */
  readonly clockToleranceMs: number;
  /** Of one call to it. */
  readonly timeoutMs: number;
}

/** A configuration as a whole, validated, with every duration in milliseconds and every size in bytes. */
export interface Config {
  /** An origin (`https://gateway.example`), without a trailing slash. Everything published is built from it. */
  readonly publicUrl: string;
  readonly listen: Address;
  readonly admin: Address | undefined;
  readonly authorizationServers: ReadonlyMap<string, AuthorizationServer>;
  /** Scope → the scopes that it implies, transitively closed, without itself. */
  readonly scopeHierarchy: ReadonlyMap<string, readonly string[]>;
  readonly limits: Limits;
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly decisions: 'all' | 'denials' };
  readonly routes: readonly Route[];
  readonly policies: ReadonlyMap<string, Policy>;
  /** SHA-256 over all files that were read, in hex; the label of `sallyport_config_info`. */
  readonly hash: string;
}

interface Limits {
  /** Of a body that we must read, in bytes. */
  readonly requestBodyBytes: number;
  /** Of a request's header section, in bytes. */
  readonly requestHeadersBytes: number;
}
