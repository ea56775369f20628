import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { Denial } from '../model/denial.ts';
import { proofKeyOf, type ProofKey } from './proof-key.ts';

/** A DPoP proof as its bytes say, RFC 9449 §4.2; its signature is still to be verified. */
export interface DpopProof {
  /** The JWT itself. */
  readonly text: string;
  /** `alg`, one of those accepted. */
  readonly algorithm: string;
  /** `jwk`. */
  readonly key: ProofKey;
  /** `jti`. */
  readonly id: string;
  /** `htm`. */
  readonly method: string;
  /** `htu`. */
  readonly target: string;
  /** `iat`, in milliseconds. */
  readonly issuedAtMs: number;
  /** `ath`. */
  readonly tokenHash: string | undefined;
  /** `nonce`. */
  readonly nonce: string | undefined;
}

/** An RSA key of 8192 bits and its signature fit. */
const MAX_CHARACTERS = 8192;
/** Of `jti`: RFC 9449 §4.2 wants 96 bits of randomness. */
const MAX_ID_CHARACTERS = 256;
/** RFC 7515 §7.1, and so not two proofs in one field. */
const compact = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Reads the `DPoP` field, RFC 9449 §4.3, checks 2 to 5 and 7: a JWT with every claim, of the right type, by an accepted
 * algorithm, with a public key for it. Verifies no signature, and costs no more than parsing.
 *
 * @throws {Denial} `proof.invalid`.
 */
export function readProof(text: string, algorithms: ReadonlySet<string>): DpopProof {
  if (text.length > MAX_CHARACTERS || !compact.test(text)) throw invalid('is not a JWT of a bearable length');
  const { header, claims } = decode(text);
  if (header.typ !== 'dpop+jwt') throw invalid('has a typ other than dpop+jwt');
  // RFC 7515 §4.1.11: what is critical must be understood, and there is nothing of that kind for proofs.
  if (header.crit !== undefined) throw invalid('has critical header parameters');
  const { alg: algorithm } = header;
  if (typeof algorithm !== 'string' || !algorithms.has(algorithm))
    throw invalid('has an alg that is not accepted here');
  const key = proofKeyOf(header.jwk, algorithm);
  const { jti, htm, htu, iat, ath, nonce } = claims as Record<string, unknown>;
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID_CHARACTERS) {
    throw invalid(`has no jti of at most ${MAX_ID_CHARACTERS} characters`);
  }
  if (typeof htm !== 'string') throw invalid('has no htm');
  if (typeof htu !== 'string') throw invalid('has no htu');
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw invalid('has no iat');
  return {
    text,
    algorithm,
    key,
    id: jti,
    method: htm,
    target: htu,
    issuedAtMs: iat * 1000,
    tokenHash: typeof ath === 'string' ? ath : undefined,
    nonce: typeof nonce === 'string' ? nonce : undefined,
  };
}

function decode(text: string): { readonly header: ProtectedHeaderParameters; readonly claims: JWTPayload } {
  try {
    return { header: decodeProtectedHeader(text), claims: decodeJwt(text) };
  } catch (cause) {
    throw new Denial('proof.invalid', 'the proof is not a JWT', { cause });
  }
}

function invalid(why: string): Denial {
  return new Denial('proof.invalid', `the proof ${why}`);
}
