import { rememberWhileOpen } from '../core/lib/http/node-http.ts';
import { Denial } from '../core/model/denial.ts';
import type { Call } from '../core/model/call.ts';
import type { AccessToken, PresentedToken } from '../core/model/grant.ts';

/** RFC 9110 §11.1: the scheme is case-insensitive. */
const ourSchemes = /^(bearer|dpop)(?: |$)/i;
/** RFC 6750 §2.1: `b64token`; RFC 9449 §7.1 has the same. */
const credentials = /^[a-z]+ +([A-Za-z0-9\-._~+/]+=*)$/i;

/** RFC 6750 §2.1: from the `Authorization` header and nowhere else. */
function presentedToken(authorization: string, query: string, servesDpop: boolean): PresentedToken {
  if (hasTokenInQuery(query))
    throw new Denial('request.credentials', 'an Authorization header and a token in the query');
  const scheme = schemeOf(authorization);
  if (scheme === undefined || (scheme === 'dpop' && !servesDpop))
    throw new Denial('credentials.missing', `a scheme other than Bearer${servesDpop ? ' and DPoP' : ''}`);
  const token = credentials.exec(authorization)?.[1];
  if (token === undefined)
    throw new Denial('token.malformed', `the Authorization header is not of the form ${names[scheme]} b64token`);
  return { scheme, value: token as AccessToken };
}

/** Longer headers are parsed each time, to bound the memory of a connection. */
const MAX_REMEMBERED = 4096;

interface LastHeader {
  readonly authorization: string;
  readonly token: PresentedToken;
}

/** By socket, for all routes and configurations: a connection that an ingress keeps open meets many. */
const lastHeaders = new WeakMap<object, LastHeader>();

/**
 * Creates the reader of a request's access token, RFC 6750 §2.1: from the `Authorization` header and nowhere else.
 * With `servesDpop` it also accepts the scheme of RFC 9449 §7.1; the proof is checked once the token's binding is
 * known.
 *
 * A connection that repeats its header gets the same object, so that values derived from it can be cached.
 *
 * @returns a function that throws {Denial} `credentials.missing` without the header and for another scheme (RFC 6750
 *   §3.1 treats both alike); `token.malformed` for another form; `request.credentials` if the query has a token too,
 *   RFC 6750 §2.
 */
export function createTokenReader(servesDpop: boolean): (call: Call) => PresentedToken {
  return ({ fields: { authorization }, query, request: { socket } }) => {
    if (authorization === undefined) throw new Denial('credentials.missing', 'no Authorization header');
    const last = lastHeaders.get(socket);
    const isTheSame = last !== undefined && query === '' && last.authorization === authorization;
    if (isTheSame && (servesDpop || last.token.scheme === 'bearer')) return last.token;
    const token = presentedToken(authorization, query, servesDpop);
    if (authorization.length > MAX_REMEMBERED) return token;
    rememberWhileOpen(lastHeaders, socket, { authorization, token });
    return token;
  };
}

const names: Readonly<Record<PresentedToken['scheme'], string>> = { bearer: 'Bearer', dpop: 'DPoP' };

function schemeOf(authorization: string): PresentedToken['scheme'] | undefined {
  const scheme = ourSchemes.exec(authorization)?.[1];
  if (scheme === undefined) return undefined;
  return scheme.toLowerCase() === 'dpop' ? 'dpop' : 'bearer';
}

function hasTokenInQuery(query: string): boolean {
  if (!query.includes('access_token') && !query.includes('%')) return false;
  return new URLSearchParams(query).has('access_token');
}
