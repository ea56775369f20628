import type { AuthorizationServer } from './authorization-server.ts';
import type { Policy } from './policy.ts';
import type { Rate, Route } from './route.ts';

/** A socket address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The admin listener: where it listens, and which callers it answers. */
export interface AdminSettings extends AdminRules {
  readonly listen: Address;
}

/** Which callers the admin listener answers. */
export interface AdminRules {
  /** Names in lower case by which operators reach it, besides loopback, addresses and names of a single label. */
  readonly hosts: readonly string[];
  /** What callers off loopback must present. Undefined: the listener shows them neither the console nor details. */
  readonly token: string | undefined;
}

/** A configuration as a whole, validated, with every duration in milliseconds and every size in bytes. */
export interface Config {
  /** An origin (`https://gateway.example`), without a trailing slash. Everything published is built from it. */
  readonly publicUrl: string;
  readonly listen: Address;
  /** Undefined: plain HTTP. */
  readonly tls: Tls | undefined;
  /** Undefined: there is none. */
  readonly admin: AdminSettings | undefined;
  /** Undefined: proxies cannot ask. */
  readonly forwardAuth: ForwardAuth | undefined;
  /** Addresses and prefixes (CIDR) of proxies whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** Addresses and prefixes (CIDR) of proxies whose `Client-Cert` counts; trust in addresses never implies it. */
  readonly certificateProxies: readonly string[];
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
  /** Undefined: no spans are made. */
  readonly telemetry: Telemetry | undefined;
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly decisions: 'all' | 'denials' };
  readonly routes: readonly Route[];
  readonly policies: ReadonlyMap<string, Policy>;
  /** SHA-256 over all files that were read, in hex; the label of `sallyport_config_info`. */
  readonly hash: string;
}

/** The files of our own certificate, as absolute paths. */
export interface Tls {
  /** A PEM file: the certificate, then its chain. */
  readonly cert: string;
  /** A PEM file. */
  readonly key: string;
  /** Who may have issued client certificates, a PEM file; `any`: everybody, for tokens bound to self-signed ones; undefined: none are asked for. */
  readonly clientCa: string | undefined;
}

/** The listener where proxies ask whether a request may pass, which they forward themselves. */
export interface ForwardAuth {
  readonly listen: Address;
  /** Addresses and networks (CIDR) of who may ask: they choose which request it is about. */
  readonly trusted: readonly string[];
}

/** A Redis or Valkey. */
export interface SharedStore {
  readonly url: string;
  /** What becomes of a request whose replay check cannot be made. */
  readonly onFailure: 'closed' | 'open';
}

/** Where spans go. */
export interface Telemetry {
  /** The collector's base URL, OTLP over HTTP, without a trailing slash. */
  readonly otlp: string;
  /** `service.name` of the spans. */
  readonly serviceName: string;
  /** Which part of the traces is recorded that nobody has decided on before us: from 0 to 1. */
  readonly sample: number;
  /** Sent to the collector; secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Limits {
  /** Of a body that we must read, in bytes. */
  readonly requestBodyBytes: number;
  /** Of a request's header section, in bytes. */
  readonly requestHeadersBytes: number;
  /** Different tokens of one address that authorization servers may refuse; undefined: unlimited. */
  readonly failures: Rate | undefined;
}
