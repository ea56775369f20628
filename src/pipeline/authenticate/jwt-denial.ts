import { decodeProtectedHeader } from 'jose/decode/protected_header';
import * as errors from 'jose/errors';
import { type AuthorizationServer, issuersOf, type JwtValidation } from '../../model/authorization-server.ts';
import { Denial } from '../../model/denial.ts';
import type { Reason } from '../../model/reasons.ts';
import type { NumericDate } from '../../model/principal.ts';
import { describeValue } from '../../lib/json/describe-value.ts';
import { notAccepted, outOfTime } from './found.ts';

/** A server that signs JWTs. */
type JwtServer = AuthorizationServer & { readonly jwt: JwtValidation };

/**
 * The denial of a JWT that jose refused, with what it found and what `server` is configured to accept.
 *
 * @param nowMs When the token was verified.
 * @throws `error` itself if it is not an error of jose: a bug, or a denial.
 */
export function jwtDenial(error: unknown, token: string, server: JwtServer, nowMs: number): Denial {
  if (!(error instanceof errors.JOSEError)) throw error;
  return new Denial(reasonOf(error), detailOf(error, token, server, nowMs), { cause: error });
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
