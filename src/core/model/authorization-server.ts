import type { KeyObject } from 'node:crypto';

/** The authentication of the gateway at an authorization server's endpoints, RFC 6749 §2.3.1 and RFC 7523 §2.2. */
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

/** The validation of JWT access tokens of one authorization server. */
export interface JwtValidation {
  /** The only accepted `alg` values: asymmetric ones, never `none`. */
  readonly algorithms: readonly string[];
  /** Accepted `typ` values, lower case, without `application/`; undefined: at+jwt, JWT or absent. */
  readonly types: readonly string[] | undefined;
  /** Further `iss` values of the same server, byte for byte, such as those of an earlier version of its tokens. */
  readonly issuers?: readonly string[];
  /** JWK Set location; undefined: `jwks_uri` of the discovered metadata. */
  readonly jwksUri: string | undefined;
  /** A JWK Set of public keys from a file, in place of {@link jwksUri}; default: none. */
  readonly keySet?: object | undefined;
}

/** The introspection of opaque tokens of one authorization server, RFC 7662. */
export interface Introspection {
  readonly credentials: ClientCredentials;
  /** The prefix of every opaque token of the server; undefined: its tokens look like those of other servers. */
  readonly prefix: string | undefined;
  /** Endpoint; undefined: `introspection_endpoint` of the discovered metadata. */
  readonly endpoint: string | undefined;
  /** Longest reuse of a positive answer, never past `exp`. 0: introspect at every call. */
  readonly cacheMs: number;
  /** Whether an answer without `aud` is refused. */
  readonly audience: 'required' | 'optional';
  /** `jwt`: the answer must be signed (RFC 9701, or a phantom token) with one of `algorithms`. */
  readonly response: { readonly kind: 'json' } | { readonly kind: 'jwt'; readonly algorithms: readonly string[] };
}

/** An authorization server that routes may trust. */
export interface AuthorizationServer {
  /** Its key in `authorization_servers`, the label in metrics. */
  readonly name: string;
  /** Compared and advertised byte for byte. */
  readonly issuer: string;
  /** The base URL where the gateway reaches it: `backchannel`, or else the issuer. */
  readonly backchannel: string;
  readonly jwt: JwtValidation | undefined;
  readonly introspection: Introspection | undefined;
  /** What precedes a scope in requests to it, and is absent from its tokens; undefined: nothing. */
  readonly scopePrefix?: string | undefined;
  /** The claim that stands for an absent `aud`; undefined: none. */
  readonly audienceClaim?: 'client_id' | 'azp' | 'cid' | undefined;
  /** The tolerance for `exp`, `nbf` and `iat`. */
  readonly clockToleranceMs: number;
  /** The timeout of one call to it, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** How long metadata and keys stay usable after the last successful fetch; at least as long as they are fresh. */
  readonly staleMs: number;
}

/** The `iss` values of a server's tokens, the one that it is known by first. */
export function issuersOf({ issuer, jwt }: Pick<AuthorizationServer, 'issuer' | 'jwt'>): readonly string[] {
  return [issuer, ...(jwt?.issuers ?? [])];
}

/** OpenID Connect Core §5.4 and §11: scopes of the protocol, which no resource owns. */
const openidScopes: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access']);

/**
 * Scopes as a server wants them in requests. A prefix is not added to OpenID's own scopes, nor to one with `:` or `/`,
 * which is a full name already.
 */
export function prefixedScopes(scopes: readonly string[], prefix: string | undefined): readonly string[] {
  if (prefix === undefined) return scopes;
  return scopes.map((scope) => (openidScopes.has(scope) || /[:/]/.test(scope) ? scope : prefix + scope));
}
