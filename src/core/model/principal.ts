import { lengthPrefixed } from '../lib/digest.ts';

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

/**
 * The claim that names the client: `client_id` (RFC 9068 §2.2), or what servers send instead: `azp`, Entra ID 1.0
 * `appid`, Okta `cid`. Other servers may use the last two for something else, in another form.
 */
export function clientClaim(claims: Claims): 'client_id' | 'azp' | 'appid' | 'cid' {
  if (claims['client_id'] !== undefined) return 'client_id';
  if (claims['azp'] !== undefined || !(isName(claims['appid']) || isName(claims['cid']))) return 'azp';
  return isName(claims['appid']) ? 'appid' : 'cid';
}

/** Whether a claim names a subject or a client: callers with an empty one would share sessions and quotas. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * The identity that separates callers in quotas, rate limits, sessions and handles: the subject at its issuer, or the
 * client if the token has no subject (client credentials). It is not the token, which is renewed, nor the key that the
 * token is bound to: a caller can make any number of keys.
 *
 * @returns undefined if the token names neither, RFC 7662 §2.2. Such callers cannot be distinguished.
 */
export function callerKey({
  issuer,
  subject,
  clientId,
}: Pick<Principal, 'issuer' | 'subject' | 'clientId'>): string | undefined {
  return subject === undefined ? clientKey({ issuer, clientId }) : lengthPrefixed([issuer, 'subject', subject]);
}

/** The identity of the client at its issuer; undefined if the token names none. */
export function clientKey({ issuer, clientId }: Pick<Principal, 'issuer' | 'clientId'>): string | undefined {
  return clientId === undefined ? undefined : lengthPrefixed([issuer, 'client', clientId]);
}

/**
 * The identity of the agent that calls: the current actor, or the client of a token without actors; undefined without
 * either. An actor and a client of one name are two agents.
 */
export function actorKey(principal: Pick<Principal, 'issuer' | 'clientId' | 'actors'>): string | undefined {
  const [current] = principal.actors ?? [];
  return current === undefined ? clientKey(principal) : lengthPrefixed([current.issuer, 'actor', current.subject]);
}

/**
 * Each broader scope with every scope that it implies, directly or through others, without itself. Scopes that imply
 * each other in a circle are equivalent, which is not an error.
 */
export function closeHierarchy(
  scopes: Readonly<Record<string, readonly string[]>>,
): ReadonlyMap<string, readonly string[]> {
  const direct = new Map(Object.entries(scopes));
  return new Map([...direct.keys()].map((scope) => [scope, impliedBy(scope, direct)]));
}

function impliedBy(scope: string, direct: ReadonlyMap<string, readonly string[]>): readonly string[] {
  // A Set is walked in the order of insertion, additions during the walk included.
  const reached = new Set([scope]);
  for (const broader of reached) {
    for (const narrower of direct.get(broader) ?? []) reached.add(narrower);
  }
  reached.delete(scope);
  return [...reached];
}

/** Granted scopes and all scopes that they imply by a closed hierarchy, for `Principal.scopes`. */
export function expandScopes(
  granted: readonly string[],
  hierarchy: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const expanded = new Set(granted);
  for (const scope of granted) {
    for (const implied of hierarchy.get(scope) ?? []) expanded.add(implied);
  }
  return expanded;
}
