import { isObject } from '../core/lib/json/own-member.ts';
import { isThumbprint } from '../core/lib/digest.ts';
import { requireAccessToken } from './access-token.ts';
import type { AuthorizationServer } from '../core/model/authorization-server.ts';
import { actorsIn } from '../ports/actors.ts';
import { Denial } from '../core/model/denial.ts';
import type { Claims, Confirmation, NumericDate, Principal, TokenForm } from '../core/model/principal.ts';
import { expandScopes } from '../ports/scope-hierarchy.ts';
import { callerKey, clientClaim, isName } from '../core/model/caller-key.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';

/** The token that claims are from. */
interface TokenContext {
  readonly form: TokenForm;
  /**
   * Whether the token declares itself an access token (`typ: at+jwt`). Otherwise a claim that only other kinds of token
   * have refuses it.
   */
  readonly isTyped: boolean;
  readonly server: AuthorizationServer;
  /** The claims with the digits of numbers that JavaScript would change; undefined where it changes none. */
  readonly exactClaims?: Claims | undefined;
  /** Each scope with the scopes that it implies. */
  readonly hierarchy: ReadonlyMap<string, readonly string[]>;
}

/**
 * The principal of authenticated claims, RFC 9068 §2.2 and RFC 7662 §2.2.
 *
 * @throws {Denial} `token.type` for another kind of token, `token.sender_constrained` for an unsupported binding,
 *   `token.claims` for a member of the wrong type, and for a chain of actors that cannot be read.
 */
export function principalOf(
  stated: Claims,
  { form, isTyped, server, hierarchy, exactClaims }: TokenContext,
): Principal {
  requireAccessToken(stated, isTyped);
  const claims = withoutNulls(stated);
  const identity = {
    issuer: server.issuer,
    subject: nameIn(claims, 'sub'),
    clientId: nameIn(claims, clientClaim(claims)),
  };
  const grantedScopes = scopesOf(claims);
  const actors = actorsIn(claims, server.issuer);
  if (typeof actors === 'string') throw new Denial('token.claims', actors);
  return {
    ...identity,
    actors,
    callerKey: callerKey(identity),
    grantedScopes,
    scopes: expandScopes(grantedScopes, hierarchy),
    audience: audienceOf(claims, isTyped && form === 'jwt', server),
    expiresAt: date(claims, 'exp'),
    issuedAt: date(claims, 'iat'),
    form,
    confirmation: confirmationOf(claims['cnf']),
    introspectionJwt: undefined,
    claims: withIssuer(stated, server),
    ...(exactClaims !== undefined && { exactClaims: withIssuer(exactClaims, server) }),
  };
}

/** An introspection answer may omit `iss`. Policies and identity headers must still know whose `sub` they read. */
function withIssuer(claims: Claims, { issuer }: AuthorizationServer): Claims {
  return (claims['iss'] ?? undefined) === undefined ? { ...claims, iss: issuer } : claims;
}

/**
 * Without one of these any client could use the token, it would be good at any server, or an agent would pass for the
 * person itself: null is refused.
 */
const strictClaims: ReadonlySet<string> = new Set(['aud', 'cnf', 'act']);

/** Claims without members that are null: many servers write `"sub": null` for a claim that a token does not have. */
export function withoutNulls(claims: Claims): Claims {
  const isNull = ([name, value]: readonly [string, unknown]): boolean => value === null && !strictClaims.has(name);
  const entries = Object.entries(claims);
  return entries.some(isNull) ? Object.fromEntries(entries.filter((entry) => !isNull(entry))) : claims;
}

/** The principal with its scopes expanded by another hierarchy. */
export function withHierarchy(principal: Principal, hierarchy: ReadonlyMap<string, readonly string[]>): Principal {
  return { ...principal, scopes: expandScopes(principal.grantedScopes, hierarchy) };
}

/** The name of a subject or client. An empty one is refused: all its callers would share sessions and quotas. */
function nameIn(claims: Claims, claim: string): string | undefined {
  const value = claims[claim];
  if (value === undefined || isName(value)) return value;
  throw wrongType(claim, value, 'a string that is not empty');
}

function date(claims: Claims, name: string): NumericDate | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw wrongType(name, value, 'a number');
}

/**
 * The audience of a token: its `aud`, whatever that is. Only where it has no such member, the claim that the server's
 * `audience_claim` names, and only in what shows to be an access token: the client of an ID token is its audience too.
 */
export function audienceOf(
  claims: Claims,
  isTyped: boolean,
  { audienceClaim }: Pick<AuthorizationServer, 'audienceClaim'>,
): readonly string[] {
  const value = claims['aud'];
  if (value === undefined) {
    const standIn = audienceClaim && claims[audienceClaim];
    const isAccessToken =
      isTyped ||
      claims['token_use'] === 'access' ||
      (claims['scope'] ?? undefined) !== undefined ||
      (claims['scp'] ?? undefined) !== undefined;
    return typeof standIn === 'string' && standIn !== '' && isAccessToken ? [standIn] : [];
  }
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  const detail = `aud is ${describeValue(value)}; it must be a string or a list of strings`;
  throw new Denial('token.audience', detail);
}

/** `scope` as a space-separated string (RFC 9068 §2.2.3), or `scope` or `scp` as a list (Okta, Entra ID). */
export function scopesOf(claims: Claims): readonly string[] {
  const name = claims['scope'] === undefined ? 'scp' : 'scope';
  const value = claims[name];
  if (value === undefined) return [];
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw wrongType(name, value, 'a space-separated string or a list of strings');
}

/** The denial of a token whose claim has the wrong type. */
export function wrongType(name: string, found: unknown, wanted: string): Denial {
  return new Denial('token.claims', `${name} is ${describeValue(found)}; it must be ${wanted}`);
}

/**
 * The binding in a token's `cnf`, RFC 7800 §3.1: `jkt` (RFC 9449 §6.1), `x5t#S256` (RFC 8705 §3.1) or both; undefined
 * for a bearer token.
 *
 * @throws {Denial} `token.sender_constrained` for any other member. RFC 7800 §3.1 allows a reader to ignore it, but
 *   then a stolen token with a newer kind of binding would work here.
 */
export function confirmationOf(cnf: unknown): Confirmation | undefined {
  if (cnf === undefined) return undefined;
  if (!isObject(cnf)) throw uncheckable('cnf is not an object');
  const { jkt, 'x5t#S256': x5t } = cnf;
  if (Object.keys(cnf).some((name) => name !== 'jkt' && name !== 'x5t#S256'))
    throw uncheckable('cnf has a member besides jkt and x5t#S256');
  if (jkt === undefined && x5t === undefined) throw uncheckable('cnf is empty');
  return { jwkThumbprint: digest(jkt, 'jkt'), certificateThumbprint: digest(x5t, 'x5t#S256') };
}

function digest(value: unknown, name: string): string | undefined {
  if (value === undefined || isThumbprint(value)) return value;
  throw uncheckable(`${name} of cnf is not a SHA-256 in base64url`);
}

function uncheckable(why: string): Denial {
  return new Denial('token.sender_constrained', `the token is bound in a way that the gateway cannot check: ${why}`);
}
