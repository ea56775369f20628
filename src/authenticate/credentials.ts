import { Denial } from '../model/denial.ts';
import type { Fields } from '../model/call.ts';
import type { AccessToken, PresentedToken } from '../model/grant.ts';

/** RFC 9110 §11.1: the scheme is case-insensitive. */
const bearerScheme = /^bearer(?: |$)/i;
/** RFC 6750 §2.1: `b64token`. */
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The access token of a request, RFC 6750 §2.1: from the `Authorization` header and nowhere else.
 *
 * @throws {Denial} `credentials.missing` without the header, and for a scheme that is not ours (RFC 6750 §3.1 treats
 *   both alike); `token.malformed` for a Bearer of another form;
 *   `request.credentials` when a token is also in the query, RFC 6750 §2.
 */
export function presentedToken(fields: Fields, query: string): PresentedToken {
  if (fields.authorization === undefined) throw new Denial('credentials.missing', 'no Authorization header');
  if (hasTokenInQuery(query))
    throw new Denial('request.credentials', 'an Authorization header and a token in the query');
  if (!bearerScheme.test(fields.authorization)) throw new Denial('credentials.missing', 'a scheme other than Bearer');
  const token = bearer.exec(fields.authorization)?.[1];
  if (token === undefined)
    throw new Denial('token.malformed', 'the Authorization header is not of the form Bearer b64token');
  return { scheme: 'bearer', value: token as AccessToken };
}

function hasTokenInQuery(query: string): boolean {
  if (!query.includes('access_token') && !query.includes('%')) return false;
  return new URLSearchParams(query).has('access_token');
}
