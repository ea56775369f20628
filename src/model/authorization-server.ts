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
