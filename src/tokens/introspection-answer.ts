import { parseExactly } from '../core/lib/json/lossless.ts';
import { isObject, ownMember } from '../core/lib/json/own-member.ts';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { Clock } from '../core/lib/clock.ts';
import { type AuthorizationServer, issuersOf } from '../core/model/authorization-server.ts';
import type { ServerAnswer } from '../ports/authorization-server-client.ts';
import { Denial, isTokenDenial } from '../core/model/denial.ts';
import type { TokenReason } from '../core/model/reasons.ts';
import type { Claims, Principal } from '../core/model/principal.ts';
import { notAccepted, outOfTime } from './refusal-detail.ts';
import { createJwtVerifier, exactPayload, type IssuerKeys, verifiedJwt } from './jwt.ts';
import { principalOf, withoutNulls, wrongType } from './principal.ts';

/** The authenticated answer of an authorization server about an active token. A JSON value. */
export interface IntrospectionAnswer {
  /** The members of RFC 7662 §2.2, or the claims of a phantom token. */
  readonly claims: Claims;
  /** The claims as they were sent, where JavaScript would change a number of them. */
  readonly text?: string;
  /** The compact JWT, if the answer was signed. */
  readonly jwt?: string;
}

/** The accepted values of `token_type` (RFC 6749 §7.1). Some servers report refresh tokens as active too. */
const accessTokenTypes = new Set(['bearer', 'access_token', 'dpop']);

/**
 * The principal of an answer at the current time: a cached answer is checked for expiry again.
 *
 * @throws {Denial} `token.*` if the token is not valid for this gateway.
 */
export function principalOfAnswer(
  answer: IntrospectionAnswer,
  server: AuthorizationServer,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): Principal {
  const { claims: stated, jwt } = answer;
  const claims = withoutNulls(stated);
  const { iss } = claims;
  if (iss !== undefined && !issuersOf(server).some((issuer) => issuer === iss)) {
    const detail = notAccepted('iss of the introspection answer', iss, issuersOf(server));
    throw new Denial('token.issuer', detail);
  }
  requireTokenType(claims);
  const exactClaims = exactClaimsOf(answer);
  const principal = principalOf(stated, { form: 'opaque', isTyped: true, server, hierarchy, exactClaims });
  requireItsKey(principal);
  requireInTime(principal, claims['nbf'], server, clock);
  if (claims['aud'] === undefined && principal.audience.length === 0 && server.introspection?.audience !== 'optional') {
    const detail = 'the introspection answer has no aud (see introspection.audience and audience_claim)';
    throw new Denial('token.audience', detail);
  }
  return { ...principal, introspectionJwt: jwt };
}

function exactClaimsOf({ text, jwt }: IntrospectionAnswer): Claims | undefined {
  if (jwt === undefined) return text === undefined ? undefined : (parseExactly(text) as Claims | undefined);
  const payload = exactPayload(jwt);
  return (ownMember(payload, 'token_introspection') as Claims | undefined) ?? payload;
}

function requireInTime(
  { expiresAt = Infinity }: Principal,
  notBefore: unknown,
  { clockToleranceMs }: AuthorizationServer,
  clock: Clock,
): void {
  const now = clock();
  if (expiresAt * 1000 + clockToleranceMs <= now) {
    throw new Denial('token.expired', outOfTime('exp', expiresAt, now, clockToleranceMs));
  }
  if (notBefore === undefined) return;
  if (typeof notBefore !== 'number') throw wrongType('nbf', notBefore, 'a number');
  if (notBefore * 1000 - clockToleranceMs <= now) return;
  throw new Denial('token.not_yet_valid', outOfTime('nbf', notBefore, now, clockToleranceMs));
}

/** RFC 9449 §6.2: with token_type DPoP and no key, the token would become a bearer token. */
function requireItsKey({ claims: { token_type: type }, confirmation }: Principal): void {
  if (typeof type === 'string' && type.toLowerCase() === 'dpop' && confirmation?.jwkThumbprint === undefined) {
    throw new Denial('token.sender_constrained', 'the introspection answer has token_type DPoP and no cnf.jkt');
  }
}

function requireTokenType(claims: Claims): void {
  const { token_type: type } = claims;
  if (type !== undefined && !(typeof type === 'string' && accessTokenTypes.has(type.toLowerCase()))) {
    throw new Denial('token.type', notAccepted('token_type', type, accessTokenTypes));
  }
}

/**
 * The `Accept` value that requests a signed answer: RFC 9701 §4, or the older phantom token. It does not list JSON,
 * which some servers choose whatever the weights.
 */
export const signedAnswerTypes = 'application/token-introspection+jwt, application/jwt;q=0.9';

/**
 * The faults of a phantom token that refuse the caller's token. With another fault the answer proves nothing, and the
 * server counts as unavailable.
 */
const ofPhantom = new Set<TokenReason>(['token.expired', 'token.not_yet_valid', 'token.sender_constrained']);

/** Bounds memory; most upstreams accept no longer header. */
const MAX_LENGTH = 32 * 1024;
/** The maximum age of an answer by its `iat`, RFC 9701 §5. An older one is a replay. */
const MAX_AGE_SECONDS = 60;
const compactJws = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Creates the reader of answers that `server` must sign with one of `algorithms` for the gateway, its client
 * `clientId`.
 *
 * @returns a function that returns undefined for an inactive token, for which no signature is required. It throws
 *   {Denial} `authorization_server.unavailable` for an unauthenticated answer, and `token.*` for a phantom token that
 *   refuses the caller's token.
 */
export function createSignedAnswerReader(
  server: AuthorizationServer,
  clientId: string,
  algorithms: readonly string[],
  keys: IssuerKeys,
  clock: Clock,
): (answer: ServerAnswer) => Promise<IntrospectionAnswer | undefined> {
  const options: JWTVerifyOptions = {
    algorithms: [...algorithms],
    issuer: server.issuer,
    // RFC 9701 §5: it names the gateway. Otherwise an answer to another resource server could be replayed.
    audience: clientId,
    typ: 'token-introspection+jwt',
    maxTokenAge: MAX_AGE_SECONDS,
    clockTolerance: server.clockToleranceMs / 1000,
  };
  const types = server.jwt?.types;
  const phantomServer = { ...server, jwt: { ...server.jwt, algorithms, types, jwksUri: server.jwt?.jwksUri } };
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
    if (!isObject(claims)) throw unproved('the signed answer has no token_introspection');
    return claims['active'] === true ? { claims, jwt } : undefined;
  }

  async function verifiedStatement(jwt: string): Promise<JWTPayload> {
    try {
      return (await verifiedJwt(jwt, keys, options, clock())).payload;
    } catch (error) {
      throw unproved('the signed answer is not valid', error);
    }
  }

  /** A phantom token: a JWT access token in place of the opaque one, which implies that the token is active. */
  async function phantom(jwt: string): Promise<IntrospectionAnswer> {
    try {
      return { claims: (await verifyPhantom(jwt)).claims, jwt };
    } catch (error) {
      if (isTokenDenial(error) && ofPhantom.has(error.reason)) throw error;
      throw unproved('the phantom token is not valid', error);
    }
  }

  function compact(text: string): string {
    const jwt = text.trim();
    if (jwt.length > MAX_LENGTH) throw unproved(`the signed answer has more than ${MAX_LENGTH} characters`);
    if (!compactJws.test(jwt)) throw unproved('the signed answer is not a JWS in compact form');
    return jwt;
  }

  function unproved(what: string, cause?: unknown): Denial {
    // Missing keys are the better explanation.
    if (cause instanceof Denial && cause.reason === 'authorization_server.unavailable') return cause;
    const why = cause instanceof Denial ? `: ${cause.detail}` : cause instanceof Error ? `: ${cause.message}` : '';
    return new Denial('authorization_server.unavailable', `${server.name}: ${what}${why}`, { cause });
  }
}
