/** Seconds since the Unix epoch, as in JWT claims, RFC 7519 §2. May have a fraction. */
export type NumericDate = number;

/** The claims of a token as JSON.parse returned them. Read with `Object.hasOwn`: a claim may be named `__proto__`. */
export type Claims = Readonly<Record<string, unknown>>;

/** The form of a token: a signed JWT that the gateway verified, or a string that it introspected (RFC 7662). */
export type TokenForm = 'jwt' | 'opaque';

/** The keys that a token is bound to, RFC 7800 §3, as thumbprints. At least one is set, and the caller proves each. */
export interface Confirmation {
  /** `jkt`, RFC 9449 §6.1: SHA-256 of a DPoP key. */
  readonly jwkThumbprint: string | undefined;
  /** `x5t#S256`, RFC 8705 §3.1: SHA-256 of a client certificate. */
  readonly certificateThumbprint: string | undefined;
}

/** A party that acts for the subject of a token, RFC 8693 §4.1. */
export interface Actor {
  /** `iss` of the actor, or else of the token. */
  readonly issuer: string;
  /** `sub` of the actor. */
  readonly subject: string;
}

/** The caller, as a trusted authorization server vouches for: the result of validating one access token. */
export interface Principal {
  /** `iss`, byte for byte as configured. */
  readonly issuer: string;
  /** `sub`; absent for some client-credentials tokens. */
  readonly subject: string | undefined;
  /** The chain of `act`, the current actor first, at most 8; undefined: no other party acts for the subject. */
  readonly actors?: readonly Actor[] | undefined;
  /** The value of {@link clientClaim}. Only `claims` has what the token says: policies read that. */
  readonly clientId: string | undefined;
  /** The {@link callerKey} of this principal. */
  readonly callerKey: string | undefined;
  /** `scope` (RFC 9068 §2.2.3), or `scp` if the server sends that: what the token itself says. */
  readonly grantedScopes: readonly string[];
  /** The granted scopes with everything that they imply by the configured hierarchy. */
  readonly scopes: ReadonlySet<string>;
  /** `aud` as a list; empty when the token names none. */
  readonly audience: readonly string[];
  /** `exp`; an introspected token may have none. */
  readonly expiresAt: NumericDate | undefined;
  /** `iat`. */
  readonly issuedAt: NumericDate | undefined;
  readonly form: TokenForm;
  /** Header of a JWT that the gateway verified: `alg`, and `typ` in lower case without `application/`. */
  readonly signature?: { readonly algorithm: string; readonly type: string };
  /** `cnf`: the keys that the caller must prove to hold; undefined for a bearer token. */
  readonly confirmation: Confirmation | undefined;
  /** The signed introspection answer: RFC 9701 §5, or a phantom token. `token: phantom` sends it to the upstream. */
  readonly introspectionJwt: string | undefined;
  readonly claims: Claims;
  /** The claims with the digits of numbers that JavaScript would change; undefined where it changes none. */
  readonly exactClaims?: Claims | undefined;
  /**
   * Of a person that decides on an approval: the claims of the caller that asked, as they were sealed, by their names
   * or JSON Pointers as policies write them.
   */
  readonly asker?: Claims | undefined;
}
