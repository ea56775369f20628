import { Denial } from '../model/denial.ts';
import type { Fields } from '../model/call.ts';
import type { PresentedToken } from '../model/grant.ts';

/** RFC 6750 §2.1: `b64token`. The scheme is case-insensitive by RFC 9110 §11.1. */
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The access token of a request, RFC 6750 §2.1: from the `Authorization` header and nowhere else.
 *
 * @throws {Denial} `credentials.missing` without the header; `token.malformed` for any other scheme or form;
 *   `request.credentials` when a token is also in the query, RFC 6750 §2.
 */
export function presentedToken(fields: Fields, query: string): PresentedToken {
  if (fields.authorization === undefined) throw new Denial('credentials.missing', 'no Authorization header');
  if (hasTokenInQuery(query))
    throw new Denial('request.credentials', 'an Authorization header and a token in the query');
  const token = bearer.exec(fields.authorization)?.[1];
  if (token === undefined)
    throw new Denial('token.malformed', 'the Authorization header is not of the form Bearer b64token');
  return token as PresentedToken;
}

function hasTokenInQuery(query: string): boolean {
  if (!query.includes('access_token') && !query.includes('%')) return false;
  return new URLSearchParams(query).has('access_token');
}
