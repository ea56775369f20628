import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer } from '../model/authorization-server.ts';
import { Denial, type Reason } from '../model/denial.ts';
import type { Principal } from '../model/principal.ts';
import { principalOf } from './principal.ts';

/** Verifies one JWT access token of one authorization server; the audience is the route's to check. */
export type JwtVerifier = (token: string) => Promise<Principal>;

/** RFC 9068 §2.1 says at+jwt; many servers say JWT or nothing. An ID token says the same, and is told by its claims. */
const defaultTypes: readonly string[] = ['at+jwt', 'jwt', ''];

/**
 * Creates the verifier of `server`'s JWTs, RFC 9068 §4 with RFC 8725: one of the configured algorithms and no other,
 * the issuer byte for byte, `exp` required.
 *
 * @returns a function that throws {Denial} `token.*` for a token that does not hold, and
 *   `authorization_server.unavailable` when its keys cannot be had.
 */
export function createJwtVerifier(
  server: AuthorizationServer,
  keys: JWTVerifyGetKey,
  hierarchy: ReadonlyMap<string, readonly string[]>,
  clock: Clock,
): JwtVerifier {
  const { algorithms = [], types = defaultTypes } = server.jwt ?? {};
  const options: JWTVerifyOptions = {
    algorithms: [...algorithms],
    issuer: server.issuer,
    requiredClaims: ['exp'],
    clockTolerance: server.clockToleranceMs / 1000,
  };
  return async (token) => {
    try {
      const { payload, protectedHeader } = await verifiedJwt(token, keys, {
        ...options,
        currentDate: new Date(clock()),
      });
      const type = mediaType(protectedHeader.typ);
      if (!types.includes(type)) throw new Denial('token.type', `typ ${JSON.stringify(type)} is not accepted`);
      return principalOf(payload, 'jwt', type === 'at+jwt', server, hierarchy);
    } catch (error) {
      throw error instanceof Denial ? error : denialOf(error);
    }
  };
}

/** The issuer that a JWT claims, to choose who verifies it; undefined for a string that is not a JWT. Proves nothing. */
export function claimedIssuer(token: string): string | undefined {
  if (token.split('.').length !== 3) return undefined;
  try {
    if (typeof decodeProtectedHeader(token).alg !== 'string') return undefined;
    return decodeJwt(token).iss ?? '';
  } catch {
    return undefined;
  }
}

/** A JWT whose signature and claims hold, by any of the keys that could be meant. @throws what jose throws. */
export async function verifiedJwt(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // A token without `kid` while keys rotate: whichever verifies.
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (next) {
        if (!(next instanceof errors.JWSSignatureVerificationFailed)) throw next;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** RFC 7515 §4.1.9: `application/` is left out where nothing else has a slash; media types ignore case. */
function mediaType(typ: string | undefined): string {
  return (typ ?? '').toLowerCase().replace(/^application\//, '');
}

function denialOf(error: unknown): Denial {
  if (!(error instanceof errors.JOSEError)) throw error;
  return new Denial(reasonOf(error), detailOf(error), { cause: error });
}

const reasons: Readonly<Record<string, Reason>> = {
  ERR_JWT_EXPIRED: 'token.expired',
  ERR_JOSE_ALG_NOT_ALLOWED: 'token.algorithm',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'token.signature',
  ERR_JWKS_NO_MATCHING_KEY: 'token.key',
};

const claimReasons: Readonly<Record<string, Reason>> = {
  iss: 'token.issuer',
  nbf: 'token.not_yet_valid',
};

function reasonOf(error: errors.JOSEError): Reason {
  if (error instanceof errors.JWTClaimValidationFailed) return claimReasons[error.claim] ?? 'token.claims';
  return reasons[error.code] ?? 'token.malformed';
}

/** jose's sentences name the claim and the check, never a value of the token. */
function detailOf(error: errors.JOSEError): string {
  return error.message;
}
