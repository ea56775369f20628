import type { AuthorizationServer, ClientCredentials } from './config.ts';

/** What we ask an authorization server for; the label `operation` in metrics. */
export type ServerOperation = 'discovery' | 'jwks' | 'introspection' | 'exchange';

/** What an authorization server answered: any status is an answer; `body` is undefined where it was not JSON. */
export interface ServerAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The endpoints that we use of RFC 8414 §2 metadata, as *we* reach them. */
export interface ServerMetadata {
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

/** How an authorization server is, for `/readyz`. */
export interface ServerState {
  readonly name: string;
  readonly issuer: string;
  readonly state: 'unknown' | 'available' | 'stale' | 'unavailable';
  /** Why the last attempt failed. */
  readonly problem?: string;
}

/**
 * The way to one authorization server: bounded, counted, without redirects. All of it throws
 * {Denial} `authorization_server.unavailable` where there is no answer.
 */
export interface AuthorizationServerClient {
  readonly server: AuthorizationServer;
  metadata(): Promise<ServerMetadata>;
  get(operation: ServerOperation, url: string): Promise<ServerAnswer>;
  /** Posts `form` as `application/x-www-form-urlencoded`, authenticated as RFC 6749 §2.3.1 says. */
  post(
    operation: ServerOperation,
    url: string,
    form: URLSearchParams,
    credentials: ClientCredentials,
  ): Promise<ServerAnswer>;
  state(): ServerState;
  /** Ends the renewing of its metadata. */
  close(): void;
}
