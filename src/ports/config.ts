import type { AuthorizationServer } from '../core/model/authorization-server.ts';
import type { FrontDoor } from './front-door.ts';
import type { Policy } from '../core/model/policy.ts';
import type { Address, Tls } from '../core/model/listen.ts';
import type { RecordDetails } from '../core/model/outcome.ts';
import type { StoreSettings } from './store.ts';
import type { Route } from '../core/model/route.ts';
import type { Rate } from '../core/model/endpoint.ts';

/** The admin listener: where it listens, and which callers it answers. */
export interface AdminSettings extends AdminRules {
  readonly listen: Address;
}

/** Which callers the admin listener answers. */
export interface AdminRules {
  /** Names in lower case by which operators reach it, besides loopback, addresses and names of a single label. */
  readonly hosts: readonly string[];
  /** The token that callers off loopback must present. Undefined: they get neither the console nor details. */
  readonly token: string | undefined;
}

/** The content of the log, and where it goes besides stdout. */
export interface LogSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly decisions: 'all' | 'denials';
  readonly details: RecordDetails;
  /** Whether lists with withheld entries are logged. */
  readonly lists: boolean;
  /** The absolute path of the file that decisions are appended to. */
  readonly file: string | undefined;
}

/** A configuration as a whole, validated, with every duration in milliseconds and every size in bytes. */
export interface Config {
  /** Probable mistakes, each as an error would be reported: file, line, column, path, message. */
  readonly warnings: readonly string[];
  /** An origin (`https://gateway.example`), without a trailing slash. Everything published is built from it. */
  readonly publicUrl: string;
  readonly listen: Address;
  /** Undefined: plain HTTP. */
  readonly tls: Tls | undefined;
  /** Undefined: there is no admin listener. */
  readonly admin: AdminSettings | undefined;
  /** Addresses and networks (CIDR) of proxies whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** Addresses and networks (CIDR) of proxies whose `Client-Cert` counts; trust in addresses never implies it. */
  readonly certificateProxies: readonly string[];
  /** The store that replicas share; undefined: each replica keeps its own state. */
  readonly shared: StoreSettings | undefined;
  readonly authorizationServers: ReadonlyMap<string, AuthorizationServer>;
  /** The name of the route whose metadata are at the root too; undefined: that of the only resource. */
  readonly rootResource: string | undefined;
  /** The server to whose endpoints `/authorize`, `/token` and `/register` of the gateway lead; undefined: to none. */
  readonly endpointsAtRoot: AuthorizationServer | undefined;
  /** Undefined: there is no front door. */
  readonly frontDoor: FrontDoor | undefined;
  /** Scope → the scopes that it implies, transitively closed, without itself. */
  readonly scopeHierarchy: ReadonlyMap<string, readonly string[]>;
  /** The key that binds MCP sessions to the callers that began them; undefined: random at each start. */
  readonly sessionKey: string | undefined;
  /** Host names of the gateway, without port, in lower case. A request for another name may come from DNS rebinding. */
  readonly allowedHosts: ReadonlySet<string>;
  /** Origins, RFC 6454 §6.2, of pages that may call. Loopback origins of any port may call too. */
  readonly allowedOrigins: ReadonlySet<string>;
  readonly limits: Limits;
  readonly log: LogSettings;
  readonly routes: readonly Route[];
  /** The settings of capabilities, which `Slot` reads. */
  readonly slots: ReadonlyMap<object, object>;
  readonly policies: ReadonlyMap<string, Policy>;
  readonly policyFolder: PolicyFolder;
  /** SHA-256 over all files that were read, in hex; the label of `sallyport_config_info`. */
  readonly hash: string;
}

/** The folder that policies were read from. */
export interface PolicyFolder {
  readonly path: string;
  /** Its name in messages. */
  readonly label: string;
  /** The text of each policy, by the name of its file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** The paths of `oauth_endpoints_at_root`, and the member of RFC 8414 §2 metadata that names the endpoint of each. */
export const rootEndpoints: ReadonlyMap<string, 'authorization_endpoint' | 'token_endpoint' | 'registration_endpoint'> =
  new Map([
    ['/authorize', 'authorization_endpoint'],
    ['/token', 'token_endpoint'],
    ['/register', 'registration_endpoint'],
  ]);

interface Limits {
  /** The largest request body that the gateway reads, in bytes. */
  readonly requestBodyBytes: number;
  /** The largest header section of a request, in bytes. */
  readonly requestHeadersBytes: number;
  /** The bounds on the JSON of a message. */
  readonly json: { readonly depth: number; readonly members: number };
  /** The most calls of one caller that a process serves at a time. */
  readonly calls: number;
  /** How long a connection of a client without a request stays open. */
  readonly idleMs: number;
  /** The rate limit on invalid tokens of one address; undefined: unlimited. */
  readonly failures: Rate | undefined;
}
