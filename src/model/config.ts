import type { AuthorizationServer } from './authorization-server.ts';
import type { Policy } from './policy.ts';
import type { Rate, Route } from './route.ts';

/** A socket address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A configuration as a whole, validated, with every duration in milliseconds and every size in bytes. */
export interface Config {
  /** An origin (`https://gateway.example`), without a trailing slash. Everything published is built from it. */
  readonly publicUrl: string;
  readonly listen: Address;
  /** Undefined: plain HTTP. */
  readonly tls: Tls | undefined;
  readonly admin: Address | undefined;
  /** Addresses and prefixes (CIDR) of proxies whose word on the client counts: its address, its certificate. */
  readonly trustedProxies: readonly string[];
  /** Where replicas keep what they know together; undefined: each for itself. */
  readonly shared: SharedStore | undefined;
  readonly authorizationServers: ReadonlyMap<string, AuthorizationServer>;
  /** Scope → the scopes that it implies, transitively closed, without itself. */
  readonly scopeHierarchy: ReadonlyMap<string, readonly string[]>;
  /** Binds MCP sessions to who began them; undefined: random at each start. */
  readonly sessionKey: string | undefined;
  /** Host names without port, lower case, under which we are called: a page of another name is rebinding DNS. */
  readonly allowedHosts: ReadonlySet<string>;
  /** Origins, RFC 6454 §6.2, of pages that may call; loopback origins of any port may besides. */
  readonly allowedOrigins: ReadonlySet<string>;
  readonly limits: Limits;
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly decisions: 'all' | 'denials' };
  readonly routes: readonly Route[];
  readonly policies: ReadonlyMap<string, Policy>;
  /** SHA-256 over all files that were read, in hex; the label of `sallyport_config_info`. */
  readonly hash: string;
}

/** The files of our own certificate. */
export interface Tls {
  /** A PEM file: the certificate, then its chain. */
  readonly cert: string;
  /** A PEM file. */
  readonly key: string;
  /** Who may have issued client certificates, a PEM file; `any`: everybody, for tokens bound to self-signed ones; undefined: none are asked for. */
  readonly clientCa: string | undefined;
}

/** A Redis or Valkey. */
export interface SharedStore {
  readonly url: string;
  /** What becomes of a request whose replay check cannot be made. */
  readonly onFailure: 'closed' | 'open';
}

interface Limits {
  /** Of a body that we must read, in bytes. */
  readonly requestBodyBytes: number;
  /** Of a request's header section, in bytes. */
  readonly requestHeadersBytes: number;
  /** Tokens of one address that are refused, before the address has to wait; undefined: unlimited. */
  readonly failures: Rate | undefined;
}
