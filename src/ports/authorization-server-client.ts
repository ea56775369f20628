import type { AuthorizationServer, ClientCredentials } from '../core/model/authorization-server.ts';
import type { ServerOperation } from '../core/model/events.ts';

/** The answer of an authorization server, with any status. */
export interface ServerAnswer {
  readonly status: number;
  /** `Content-Type` in lower case without parameters; `''` without one. */
  readonly mediaType: string;
  readonly text: string;
  /** The parsed text; undefined if it is not JSON. */
  readonly body: unknown;
  /** `max-age`, RFC 9111 §5.2.2.1; undefined if the answer has none. */
  readonly maxAgeMs?: number | undefined;
}

/** The endpoints of RFC 8414 §2 metadata that the gateway uses, as the gateway reaches them. */
export interface ServerMetadata {
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
  /** All of the metadata as the server published them, unchecked but for the issuer: for commands only. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** The state of an authorization server, for `/readyz`. */
export interface ServerState {
  readonly name: string;
  readonly issuer: string;
  /**
   * `unknown`: no answer yet. `degraded`: it answers, but the operations in `circuits` fail. `stale`: it is
   * unavailable, and its last metadata are in use. `unavailable`: it is unavailable, and no metadata are usable.
   */
  readonly state: 'unknown' | 'available' | 'degraded' | 'stale' | 'unavailable';
  /** Why the last attempt failed. */
  readonly problem?: string;
  /** The operations that the gateway does not call for now, because they failed repeatedly. */
  readonly circuits?: Partial<Record<ServerOperation, 'open' | 'half_open'>>;
  /** Its signing keys; undefined: none were fetched yet. */
  readonly keys?: KeySetState | undefined;
}

/** The signing keys of an authorization server, and their age. Times are those of RFC 3339. */
export interface KeySetState {
  /** How many keys the server publishes. */
  readonly count: number;
  /** When the key set was fetched. */
  readonly fetched: string;
  /** When the gateway first fetched the newest key. */
  readonly newest: string;
}

interface PostOptions {
  /** `Accept`; default `application/json`. */
  readonly accept?: string;
  /** The caller behind the call: each caller has its share of the calls in flight. Default: the gateway itself. */
  readonly onBehalfOf?: string | undefined;
}

/**
 * A client for one authorization server. Its calls are bounded and counted, and follow no redirects. Each method throws
 * {Denial} `authorization_server.unavailable` if there is no answer.
 */
export interface AuthorizationServerClient {
  readonly server: AuthorizationServer;
  metadata(): Promise<ServerMetadata>;
  get(operation: ServerOperation, url: string): Promise<ServerAnswer>;
  /** Posts `form` as `application/x-www-form-urlencoded`, authenticated with `credentials`. */
  post(
    operation: ServerOperation,
    url: string,
    form: URLSearchParams,
    credentials: ClientCredentials,
    options?: PostOptions,
  ): Promise<ServerAnswer>;
  state(): ServerState;
  /** Stops the refresh of its metadata and closes its connections. */
  close(): void;
}
