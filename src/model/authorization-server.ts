import type { KeyObject } from 'node:crypto';

/** How we authenticate at an authorization server's endpoints, RFC 6749 §2.3.1 and RFC 7523 §2.2. */
export type ClientCredentials = SecretCredentials | KeyCredentials;

interface SecretCredentials {
  readonly clientId: string;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post';
  readonly clientSecret: string;
}

interface KeyCredentials {
  readonly clientId: string;
  readonly clientAuth: 'private_key_jwt';
  readonly key: KeyObject;
  /** `alg` of the assertion. */
  readonly algorithm: string;
  /** `kid` of the assertion. */
  readonly keyId: string | undefined;
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
export interface Introspection {
  readonly credentials: ClientCredentials;
  /** How each opaque token of the server begins; undefined: its tokens cannot be told from those of other servers. */
  readonly prefix: string | undefined;
  /** Endpoint; undefined: `introspection_endpoint` of the discovered metadata. */
  readonly endpoint: string | undefined;
  /** Longest reuse of a positive answer; never past `exp`; 0 asks every time. */
  readonly cacheMs: number;
  /** Whether an answer without `aud` is refused. */
  readonly audience: 'required' | 'optional';
  /** `jwt`: a signed answer is asked for (RFC 9701, or the phantom token), with the algorithms that it may be signed with. */
  readonly response: { readonly kind: 'json' } | { readonly kind: 'jwt'; readonly algorithms: readonly string[] };
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
  /** Of one call to it, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** How long metadata and keys are used after the last time that they could be fetched; no shorter than they are fresh. */
  readonly staleMs: number;
}

/** What we ask an authorization server for; the label `operation` in metrics. */
export type ServerOperation = 'discovery' | 'jwks' | 'introspection' | 'exchange' | 'client_credentials';

/** What an authorization server answered: any status is an answer. */
export interface ServerAnswer {
  readonly status: number;
  /** `Content-Type` in lower case without parameters; `''` without one. */
  readonly mediaType: string;
  readonly text: string;
  /** The parsed text; undefined where it is not JSON. */
  readonly body: unknown;
  /** How long it says that it is fresh, RFC 9111 §5.2.2.1; undefined where it does not say. */
  readonly maxAgeMs?: number | undefined;
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
  /**
   * `unknown`: nothing was heard yet. `degraded`: it is there, but what `circuits` names fails. `stale`: away, and what
   * is known of it goes on. `unavailable`: away, and nothing of it is known (any more).
   */
  readonly state: 'unknown' | 'available' | 'degraded' | 'stale' | 'unavailable';
  /** Why the last attempt failed. */
  readonly problem?: string;
  /** What is not asked for the time being, because it failed again and again. */
  readonly circuits?: Partial<Record<ServerOperation, 'open' | 'half_open'>>;
}

/** What else there is to say of a post. */
interface PostOptions {
  /** `Accept`; default `application/json`. */
  readonly accept?: string;
  /** For whom: whoever asks for much at once waits, and nobody else. Default: for the gateway itself. */
  readonly onBehalfOf?: string | undefined;
}

/**
 * The way to one authorization server: bounded, counted, without redirects. All of it throws
 * {Denial} `authorization_server.unavailable` where there is no answer.
 */
export interface AuthorizationServerClient {
  readonly server: AuthorizationServer;
  metadata(): Promise<ServerMetadata>;
  get(operation: ServerOperation, url: string): Promise<ServerAnswer>;
  /** Posts `form` as `application/x-www-form-urlencoded`, authenticated as `credentials` says. */
  post(
    operation: ServerOperation,
    url: string,
    form: URLSearchParams,
    credentials: ClientCredentials,
    options?: PostOptions,
  ): Promise<ServerAnswer>;
  state(): ServerState;
  /** Ends the renewing of its metadata. */
  close(): void;
}
