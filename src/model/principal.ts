/** Seconds since the Unix epoch, as in JWT claims, RFC 7519 §2. May have a fraction. */
export type NumericDate = number;

/** The claims of a token as JSON.parse gave them. Read with `Object.hasOwn`: a claim may be called `__proto__`. */
export type Claims = Readonly<Record<string, unknown>>;

/** How a token was presented: a signed JWT that we verified, or a string that its issuer explained (RFC 7662). */
export type TokenForm = 'jwt' | 'opaque';

/** Who calls, as a trusted authorization server vouches for: the result of validating one access token. */
export interface Principal {
  /** `iss`, byte for byte as configured. */
  readonly issuer: string;
  /** `sub`; absent for some client-credentials tokens. */
  readonly subject: string | undefined;
  /** `client_id` (RFC 9068 §2.2), or `azp` where a server has only that. */
  readonly clientId: string | undefined;
  /** The granted scopes with everything that they imply by the configured hierarchy. */
  readonly scopes: ReadonlySet<string>;
  /** `aud` as a list; empty when the token names none. */
  readonly audience: readonly string[];
  /** `exp`; an introspected token may have none. */
  readonly expiresAt: NumericDate | undefined;
  /** `iat`. */
  readonly issuedAt: NumericDate | undefined;
  readonly form: TokenForm;
  readonly claims: Claims;
}
