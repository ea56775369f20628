import type { JWTHeaderParameters, JWTPayload } from 'jose';
import * as errors from 'jose/errors';
import { jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose/jwt/verify';
import { isObject, ownMember } from '../core/lib/json/own-member.ts';
import { parseExactly } from '../core/lib/json/lossless.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import type { Clock } from '../core/lib/clock.ts';
import { type AuthorizationServer, issuersOf, type JwtValidation } from '../core/model/authorization-server.ts';
import { Denial } from '../core/model/denial.ts';
import type { Claims, NumericDate, Principal } from '../core/model/principal.ts';
import { notAccepted, outOfTime } from './refusal-detail.ts';
import { principalOf, withoutNulls } from './principal.ts';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { UnsecuredJWT } from 'jose/jwt/unsecured';
import type { Reason } from '../core/model/reasons.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';

/** Verifies one JWT access token of one authorization server; the audience is the route's to check. */
export type JwtVerifier = (token: string) => Promise<Principal>;

/**
 * RFC 9068 §2.1 requires at+jwt; many servers send JWT or nothing. ID tokens do too, and are recognized by their
 * claims.
 */
const defaultTypes: readonly string[] = ['at+jwt', 'jwt', ''];

/** The keys of one issuer. */
export interface IssuerKeys {
  /** Finds the key that the header of a token names. */
  readonly find: JWTVerifyGetKey;
  /**
   * Fetches the keys again for a signature that no key verifies, if that is due.
   *
   * @param since When the verification began (ms since the epoch).
   * @returns whether the keys were fetched since then.
   */
  renew(since: number): Promise<boolean>;
}

/**
 * Creates the verifier of `server`'s JWTs, RFC 9068 §4 with RFC 8725: only the configured algorithms, the issuer byte
 * for byte, `exp` required.
 *
 * @returns a function that throws {Denial} `token.*` for an invalid token, and `authorization_server.unavailable` if
 *   the keys of the server cannot be fetched.
 */
export function createJwtVerifier(
  server: AuthorizationServer,
  keys: IssuerKeys,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): JwtVerifier {
  const { jwt } = server;
  if (jwt === undefined) throw new TypeError(`${server.name} has no jwt`);
  const options: JWTVerifyOptions = {
    algorithms: [...jwt.algorithms],
    issuer: [...issuersOf(server)],
    requiredClaims: ['exp'],
    clockTolerance: server.clockToleranceMs / 1000,
  };
  return async (token) => {
    requireOneSpelling(token);
    const now = clock();
    try {
      const { payload, protectedHeader } = await verifiedJwt(token, keys, options, now);
      const signature = { algorithm: protectedHeader.alg, type: mediaType(protectedHeader.typ) };
      requireType(signature, jwt);
      const isTyped = signature.type === 'at+jwt';
      const exactClaims = exactPayload(token);
      return { ...principalOf(payload, { form: 'jwt', isTyped, server, hierarchy, exactClaims }), signature };
    } catch (error) {
      throw error instanceof Denial ? error : jwtDenial(error, token, { ...server, jwt }, now);
    }
  };
}

/**
 * Requires the signature in its only spelling: base64url without padding, RFC 7515 §2. Decoders accept padding, other
 * characters and spare bits. With them one valid token would give any number of cache keys, and could push all other
 * tokens out of the cache. The header and the payload are signed as they are spelled.
 */
function requireOneSpelling(token: string): void {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  if (Buffer.from(signature, 'base64url').toString('base64url') === signature) return;
  throw new Denial('token.malformed', 'the signature is not base64url as RFC 7515 defines it');
}

/** The payload of a verified JWT with the digits of numbers that JavaScript would change; undefined: none. */
export function exactPayload(token: string): Claims | undefined {
  const [, payload = ''] = token.split('.', 2);
  return parseExactly(Buffer.from(payload, 'base64url').toString()) as Claims | undefined;
}

type Signature = NonNullable<Principal['signature']>;

/**
 * Requires the algorithm of a verified JWT to be one that is configured for its issuer.
 *
 * @throws {Denial} `token.algorithm`
 */
export function requireAlgorithm({ algorithm }: Signature, accepted: JwtValidation | undefined): void {
  const algorithms = accepted?.algorithms ?? [];
  if (!algorithms.includes(algorithm)) throw new Denial('token.algorithm', notAccepted('alg', algorithm, algorithms));
}

/**
 * Requires the `typ` of a verified JWT to be one that is configured for its issuer.
 *
 * @throws {Denial} `token.type`
 */
export function requireType({ type }: Signature, accepted: JwtValidation | undefined): void {
  const types = accepted?.types ?? defaultTypes;
  if (!types.includes(type)) throw new Denial('token.type', notAccepted('typ', type, types));
}

/** The claimed issuer of a JWT, which selects its verifier; undefined for a string that is not a JWT. Not verified. */
export function claimedIssuer(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  const [header, payload] = parts as [string, string, string];
  if (typeof ownMember(decoded(header), 'alg') !== 'string') return undefined;
  const claims = decoded(payload);
  return isObject(claims) ? ((claims as JWTPayload).iss ?? '') : undefined;
}

/** Says why an encrypted token is refused. */
export const encryptedToken =
  'the token is encrypted (a JWE of five parts), which only its addressee can read: the client must name the API ' +
  'when it asks for a token, by resource or audience';

/**
 * Whether a token has the five parts of a JWE (RFC 7516 §3.1): its server encrypted it for another party. Auth0 does so
 * where the client named no audience.
 */
export function isEncrypted(token: string): boolean {
  const parts = token.split('.');
  return parts.length === 5 && typeof ownMember(decoded(parts[0] ?? ''), 'enc') === 'string';
}

/** A part of a JWT. More lenient than jose, which decodes it again before a claim counts, and half as expensive. */
function decoded(part: string): unknown {
  return parsedJson(Buffer.from(part, 'base64url').toString());
}

/**
 * Verifies a JWT at the time `now` (ms since the epoch) by any key that its header may refer to. A server may have
 * replaced the key under the same `kid`: the keys are then fetched again, if that is due.
 *
 * @throws the errors of jose.
 */
export async function verifiedJwt(token: string, keys: IssuerKeys, options: JWTVerifyOptions, now: number) {
  const atNow = { ...options, currentDate: new Date(now) };
  try {
    return await verifiedByAny(token, keys.find, atNow);
  } catch (error) {
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || !(await keys.renew(now))) throw error;
    return await verifiedByAny(token, keys.find, atNow);
  }
}

async function verifiedByAny(token: string, find: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return await verifiedBy(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // Without a `kid`, more than one key may fit while keys rotate.
    for await (const key of error) {
      try {
        return await verifiedBy(token, async () => key, options);
      } catch (next) {
        if (!(next instanceof errors.JWSSignatureVerificationFailed)) throw next;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Times that a token need not have. Null stands for none. */
const optionalTimes: ReadonlySet<string> = new Set(['iat', 'nbf']);

async function verifiedBy(token: string, find: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWTClaimValidationFailed) || !optionalTimes.has(error.claim)) throw error;
    const { payload } = error;
    if (payload[error.claim] !== null) throw error;
    // jose has verified the signature and `typ`, and takes null for a time of a wrong type. It checks the rest again,
    // in a JWT of `{"alg":"none"}`, which it does not write itself where a time is infinite (`1e999`).
    const { typ: _, ...claimOptions } = options;
    const claims = Buffer.from(JSON.stringify(withoutNulls(payload))).toString('base64url');
    UnsecuredJWT.decode(`eyJhbGciOiJub25lIn0.${claims}.`, claimOptions);
    return { payload, protectedHeader: decodeProtectedHeader(token) as JWTHeaderParameters };
  }
}

/** A `typ` in lower case without `application/`, RFC 7515 §4.1.9. */
function mediaType(typ: unknown = ''): string {
  if (typeof typ !== 'string') throw new Denial('token.malformed', 'its typ is not a string');
  return typ.toLowerCase().replace(/^application\//, '');
}

type JwtServer = AuthorizationServer & { readonly jwt: JwtValidation };

/**
 * The denial of a JWT that jose refused, with what it found and what `server` is configured to accept.
 *
 * @param nowMs When the token was verified.
 * @throws `error` itself if it is not an error of jose: a bug, or a denial.
 */
function jwtDenial(error: unknown, token: string, server: JwtServer, nowMs: number): Denial {
  if (!(error instanceof errors.JOSEError)) throw error;
  return new Denial(reasonOf(error), detailOf(error, token, server, nowMs), { cause: error });
}

const reasons: Readonly<Record<string, Reason>> = {
  ERR_JWT_EXPIRED: 'token.expired',
  ERR_JOSE_ALG_NOT_ALLOWED: 'token.algorithm',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'token.signature',
  ERR_JWKS_NO_MATCHING_KEY: 'token.key',
};

function reasonOf(error: errors.JOSEError): Reason {
  if (!(error instanceof errors.JWTClaimValidationFailed)) return reasons[error.code] ?? 'token.malformed';
  if (error.claim === 'iss') return 'token.issuer';
  // Of the other claims, only nbf is compared here: an exp in the past is another error.
  return error.reason === 'check_failed' ? 'token.not_yet_valid' : 'token.claims';
}

/** The messages of jose name the claim and the check, never a value of the token. */
function detailOf(error: errors.JOSEError, token: string, server: JwtServer, nowMs: number): string {
  const { jwt, clockToleranceMs } = server;
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return notAccepted('alg', decodeProtectedHeader(token).alg, jwt.algorithms);
  }
  if (!(error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)) return error.message;
  const { claim, reason, payload } = error;
  const found = payload[claim];
  if (claim === 'iss') return notAccepted(claim, found, issuersOf(server));
  if (reason === 'check_failed') return outOfTime(claim, found as NumericDate, nowMs, clockToleranceMs);
  return `${error.message}, found ${describeValue(found)}`;
}
