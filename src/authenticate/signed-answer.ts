import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer } from '../model/authorization-server.ts';
import { Denial, type Reason } from '../model/denial.ts';
import type { Claims } from '../model/principal.ts';
import type { IntrospectionAnswer } from './introspection-answer.ts';
import { createJwtVerifier, verifiedJwt } from './jwt.ts';
import type { KeySource } from './keys.ts';

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

/** What a phantom token can say of the caller's. Anything else that is wrong with it is the server's fault, and no answer. */
const saidOfTheToken: ReadonlySet<Reason> = new Set([
  'token.expired',
  'token.not_yet_valid',
  'token.sender_constrained',
]);

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
      if (error instanceof Denial && saidOfTheToken.has(error.reason)) throw error;
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
