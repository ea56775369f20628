import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer } from '../model/authorization-server.ts';
import { Denial, isTokenDenial, refusals } from '../model/denial.ts';
import type { Claims, Principal } from '../model/principal.ts';
import { createJwtVerifier, verifiedJwt } from './jwt.ts';
import type { KeySource } from './keys.ts';
import { principalOf } from './principal.ts';

/** What an authorization server said of a token that is active; that the server said it is proved. A JSON value. */
export interface IntrospectionAnswer {
  /** The members of RFC 7662 §2.2, or the claims of a phantom token. */
  readonly claims: Claims;
  /** The compact JWT, where the answer was signed. */
  readonly jwt?: string;
}

/**
 * What servers call the token in `token_type` (RFC 6749 §7.1) or, some of them, its kind. A refresh token is active
 * too.
 */
const accessTokenTypes = new Set(['bearer', 'access_token', 'dpop']);

/**
 * The principal that an answer speaks of, as of now: an answer that was kept is good for no longer than it says.
 *
 * @throws {Denial} `token.*` where it says that this is no token for us.
 */
export function principalOfAnswer(
  { claims, jwt }: IntrospectionAnswer,
  server: AuthorizationServer,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): Principal {
  if (claims['iss'] !== undefined && claims['iss'] !== server.issuer) {
    throw new Denial('token.issuer', `${server.name} answered for another issuer`);
  }
  requireAccessToken(claims);
  const principal = principalOf(claims, 'opaque', true, server, hierarchy);
  requireItsKey(principal);
  requireInTime(principal, claims['nbf'], server, clock);
  if (claims['aud'] === undefined && server.introspection?.audience !== 'optional') {
    throw new Denial('token.audience', 'the introspection answer has no aud (see introspection.audience)');
  }
  return { ...principal, introspectionJwt: jwt };
}

function requireInTime(
  { expiresAt = Infinity }: Principal,
  notBefore: unknown,
  { clockToleranceMs }: AuthorizationServer,
  clock: Clock,
): void {
  const now = clock();
  if (expiresAt * 1000 + clockToleranceMs <= now) {
    throw new Denial('token.expired', 'exp of the introspection answer has passed');
  }
  if (notBefore === undefined) return;
  if (typeof notBefore !== 'number') throw new Denial('token.claims', 'nbf is not a number');
  if (notBefore * 1000 - clockToleranceMs > now) throw new Denial('token.not_yet_valid', 'nbf is in the future');
}

/** RFC 9449 §6.2: a server that says DPoP and not by which key would make a bearer token of it. */
function requireItsKey({ claims: { token_type: type }, confirmation }: Principal): void {
  if (typeof type === 'string' && type.toLowerCase() === 'dpop' && confirmation?.jwkThumbprint === undefined) {
    throw new Denial('token.sender_constrained', 'the introspection answer has token_type DPoP and no cnf.jkt');
  }
}

function requireAccessToken(claims: Claims): void {
  const { token_type: type } = claims;
  if (type !== undefined && !(typeof type === 'string' && accessTokenTypes.has(type.toLowerCase()))) {
    throw new Denial('token.type', 'the introspection answer names a token_type other than Bearer and DPoP');
  }
}

/**
 * `Accept` of a question whose answer shall be signed: RFC 9701 §4, or the phantom token that was there before it. Not
 * JSON: of several types some servers choose that one, whatever their weights.
 */
export const signedAnswerTypes = 'application/token-introspection+jwt, application/jwt;q=0.9';

/** A header of the upstream has room for no more, and so many are kept. */
const MAX_LENGTH = 32 * 1024;
/** RFC 9701 §5: `iat` is when the answer was made. An older one was made for somebody else, and may hold no longer. */
const MAX_AGE_SECONDS = 60;
const compactJws = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Creates the reader of answers that must be signed by `server`, with one of `algorithms`, for us: `clientId`.
 *
 * @returns a function that gives undefined for a token that is not active, which needs no signature since it opens
 *   nothing, and throws {Denial} `authorization_server.unavailable` for an answer whose origin is not proved, `token.*`
 *   for a phantom token that has ended.
 */
export function createSignedAnswerReader(
  server: AuthorizationServer,
  clientId: string,
  algorithms: readonly string[],
  keys: KeySource,
  clock: Clock,
): (answer: ServerAnswer) => Promise<IntrospectionAnswer | undefined> {
  const options: JWTVerifyOptions = {
    algorithms: [...algorithms],
    issuer: server.issuer,
    // RFC 9701 §5: it identifies us, or the answer to another resource server could be played to us.
    audience: clientId,
    typ: 'token-introspection+jwt',
    maxTokenAge: MAX_AGE_SECONDS,
    clockTolerance: server.clockToleranceMs / 1000,
  };
  const types = server.jwt?.types;
  const phantomServer = { ...server, jwt: { algorithms, types, jwksUri: server.jwt?.jwksUri } };
  const verifyPhantom = createJwtVerifier(phantomServer, keys, new Map(), clock);

  return async ({ mediaType, text, body }) => {
    if (mediaType === 'application/token-introspection+jwt') return statement(compact(text));
    if (mediaType === 'application/jwt') return phantom(compact(text));
    if (typeof body === 'object' && body !== null && (body as Claims)['active'] === false) return undefined;
    throw unproved('the answer is not signed, although introspection.response is jwt');
  };

  /** RFC 9701 §5. */
  async function statement(jwt: string): Promise<IntrospectionAnswer | undefined> {
    const { token_introspection: claims } = await verifiedStatement(jwt);
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
      throw unproved('the signed answer has no token_introspection');
    }
    return (claims as Claims)['active'] === true ? { claims: claims as Claims, jwt } : undefined;
  }

  async function verifiedStatement(jwt: string): Promise<JWTPayload> {
    try {
      return (await verifiedJwt(jwt, keys, { ...options, currentDate: new Date(clock()) })).payload;
    } catch (error) {
      throw unproved('the signed answer does not hold', error);
    }
  }

  /** A JWT access token in place of the opaque one; whoever gets one knows that it is active. */
  async function phantom(jwt: string): Promise<IntrospectionAnswer> {
    try {
      return { claims: (await verifyPhantom(jwt)).claims, jwt };
    } catch (error) {
      if (isTokenDenial(error) && refusals[error.reason].inPhantom === 'refusal') throw error;
      throw unproved('the phantom token does not hold', error);
    }
  }

  function compact(text: string): string {
    const jwt = text.trim();
    if (jwt.length > MAX_LENGTH) throw unproved(`the signed answer has more than ${MAX_LENGTH} characters`);
    if (!compactJws.test(jwt)) throw unproved('the signed answer is not a JWS in compact form');
    return jwt;
  }

  function unproved(what: string, cause?: unknown): Denial {
    // That the keys cannot be had says best what is wrong.
    if (cause instanceof Denial && cause.reason === 'authorization_server.unavailable') return cause;
    const why = cause instanceof Denial ? `: ${cause.detail}` : cause instanceof Error ? `: ${cause.message}` : '';
    return new Denial('authorization_server.unavailable', `${server.name}: ${what}${why}`, { cause });
  }
}
