import { Denial } from '../model/denial.ts';
import type { AuthorizationServer } from '../model/authorization-server.ts';
import type { Claims, NumericDate, Principal, TokenForm } from '../model/principal.ts';
import { expandScopes } from '../policy/hierarchy.ts';

/** Whatever is in a token that is not an access token: ID tokens (OIDC Core §2, §3.3.2.11) and logout tokens. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];
/** Keycloak names a token's kind in the payload; these must never pass for an access token. */
const foreignKinds = new Set(['ID', 'Logout', 'Refresh', 'Offline']);

/**
 * The principal of claims whose origin has been proved, RFC 9068 §2.2 and RFC 7662 §2.2.
 *
 * @param typed whether the token says of itself that it is an access token (`typ: at+jwt`); else a claim that only
 *   other kinds of token have is taken for what it is.
 * @throws {Denial} `token.type` for another kind of token, `token.sender_constrained` for a token bound to a key that
 *   was not proved, `token.claims` for a member of the wrong type.
 */
export function principalOf(
  claims: Claims,
  form: TokenForm,
  typed: boolean,
  server: AuthorizationServer,
  hierarchy: ReadonlyMap<string, readonly string[]>,
): Principal {
  if (claims['cnf'] !== undefined) {
    throw new Denial('token.sender_constrained', 'a token with cnf was presented as a plain Bearer');
  }
  const foreign = typed ? undefined : foreignClaims.find((name) => claims[name] !== undefined);
  if (foreign !== undefined || foreignKinds.has(claims['typ'] as string)) {
    throw new Denial('token.type', `not an access token: it has ${foreign ?? 'typ'}`);
  }
  return {
    issuer: server.issuer,
    subject: text(claims, 'sub'),
    clientId: text(claims, 'client_id') ?? text(claims, 'azp'),
    scopes: expandScopes(scopesOf(claims), hierarchy),
    audience: audienceOf(claims),
    expiresAt: date(claims, 'exp'),
    issuedAt: date(claims, 'iat'),
    form,
    confirmation: undefined,
    introspectionJwt: undefined,
    claims,
  };
}

function text(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType(name, 'a string');
}

function date(claims: Claims, name: string): NumericDate | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw wrongType(name, 'a number');
}

function audienceOf(claims: Claims): readonly string[] {
  const value = claims['aud'];
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw new Denial('token.audience', 'aud is neither a string nor a list of strings');
}

/** `scope` as a space-separated string (RFC 9068 §2.2.3), or as `scope` or `scp` lists, as Okta and Entra send them. */
function scopesOf(claims: Claims): readonly string[] {
  const name = claims['scope'] === undefined ? 'scp' : 'scope';
  const value = claims[name];
  if (value === undefined) return [];
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw wrongType(name, 'a space-separated string or a list of strings');
}

function wrongType(name: string, wanted: string): Denial {
  return new Denial('token.claims', `${name} is not ${wanted}`);
}
