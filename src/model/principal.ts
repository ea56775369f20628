import { lengthPrefixed } from '../lib/length-prefixed.ts';

/** Seconds since the Unix epoch, as in JWT claims, RFC 7519 §2. May have a fraction. */
export type NumericDate = number;

/** The claims of a token as JSON.parse gave them. Read with `Object.hasOwn`: a claim may be called `__proto__`. */
export type Claims = Readonly<Record<string, unknown>>;

/** How a token was presented: a signed JWT that we verified, or a string that its issuer explained (RFC 7662). */
export type TokenForm = 'jwt' | 'opaque';

/** What a token is bound to, RFC 7800 §3: thumbprints in base64url. At least one is there, and all of them must be proved. */
export interface Confirmation {
  /** `jkt`, RFC 9449 §6.1: SHA-256 of a DPoP key. */
  readonly jwkThumbprint: string | undefined;
  /** `x5t#S256`, RFC 8705 §3.1: SHA-256 of a client certificate. */
  readonly certificateThumbprint: string | undefined;
}

/** Who calls, as a trusted authorization server vouches for: the result of validating one access token. */
export interface Principal {
  /** `iss`, byte for byte as configured. */
  readonly issuer: string;
  /** `sub`; absent for some client-credentials tokens. */
  readonly subject: string | undefined;
  /** `client_id` (RFC 9068 §2.2), or `azp`, `appid` or `cid` where a server has only that. */
  readonly clientId: string | undefined;
  /** The {@link callerKey} of this principal. */
  readonly callerKey: string | undefined;
  /** `scope` (RFC 9068 §2.2.3), or `scp` where the server writes that: what the token itself says. */
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
  /** How a JWT that we verified says that it was signed, and what it is: `alg`, and `typ` in lower case without `application/`. */
  readonly signature?: { readonly algorithm: string; readonly type: string };
  /** `cnf`: the key that a caller must prove to have; undefined for a bearer token. */
  readonly confirmation: Confirmation | undefined;
  /** The signed answer of introspection, RFC 9701 §5 or a phantom token; what `token: phantom` sends upstream. */
  readonly introspectionJwt: string | undefined;
  readonly claims: Claims;
}

/**
 * The identity by which the gateway tells callers apart in quotas, rate limits, sessions and handles: the subject at its
 * issuer, or the client where the token speaks for no person (client credentials). Not the token, which is renewed, nor
 * the key that it is bound to, of which a caller can make any number.
 *
 * @returns undefined where the token names neither, RFC 7662 §2.2: such callers cannot be told apart.
 */
export function callerKey({
  issuer,
  subject,
  clientId,
}: Pick<Principal, 'issuer' | 'subject' | 'clientId'>): string | undefined {
  if (subject !== undefined) return lengthPrefixed([issuer, 'subject', subject]);
  return clientId === undefined ? undefined : lengthPrefixed([issuer, 'client', clientId]);
}
