import { isObject } from '../../lib/json/own-member.ts';
import { isThumbprint } from '../../lib/thumbprint.ts';
import type { AuthorizationServer } from '../../model/authorization-server.ts';
import { Denial } from '../../model/denial.ts';
import {
  callerKey,
  clientClaim,
  isName,
  type Claims,
  type Confirmation,
  type NumericDate,
  type Principal,
  type TokenForm,
} from '../../model/principal.ts';
import { describeValue } from '../../lib/json/describe-value.ts';
import { expandScopes } from '../../model/scope-hierarchy.ts';
import { requireAccessToken } from './token-kind.ts';

/**
 * The principal of authenticated claims, RFC 9068 §2.2 and RFC 7662 §2.2.
 *
 * @param typed Whether the token declares itself an access token (`typ: at+jwt`). Otherwise a claim that only other
 *   kinds of token have refuses it.
 * @throws {Denial} `token.type` for another kind of token, `token.sender_constrained` for an unsupported binding,
 *   `token.claims` for a member of the wrong type.
 */
export function principalOf(
  claims: Claims,
  form: TokenForm,
  typed: boolean,
  server: AuthorizationServer,
  hierarchy: ReadonlyMap<string, readonly string[]>,
): Principal {
  requireAccessToken(claims, typed);
  const identity = {
    issuer: server.issuer,
    subject: nameIn(claims, 'sub'),
    clientId: nameIn(claims, clientClaim(claims)),
  };
  const grantedScopes = scopesOf(claims);
  return {
    ...identity,
    callerKey: callerKey(identity),
    grantedScopes,
    scopes: expandScopes(grantedScopes, hierarchy),
    audience: audienceOf(claims, typed && form === 'jwt', server),
    expiresAt: date(claims, 'exp'),
    issuedAt: date(claims, 'iat'),
    form,
    confirmation: confirmationOf(claims['cnf']),
    introspectionJwt: undefined,
    // An introspection answer may omit `iss`. Policies and identity headers must still know whose `sub` they read.
    claims: claims['iss'] === undefined ? { ...claims, iss: server.issuer } : claims,
  };
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
  const { jkt, 'x5t#S256': x5t, ...others } = cnf;
  if (Object.keys(others).length > 0) throw uncheckable('cnf has a member besides jkt and x5t#S256');
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
