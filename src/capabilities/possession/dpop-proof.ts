import { isObject } from '../../core/lib/json/own-member.ts';
import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { Denial } from '../../core/model/denial.ts';
import { reasons } from './reasons.ts';

/** A parsed DPoP proof, RFC 9449 §4.2. Its signature is not yet verified. */
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

/** Enough for an RSA key of 8192 bits and its signature. */
const MAX_CHARACTERS = 8192;
/** The longest `jti`; RFC 9449 §4.2 requires 96 random bits. */
const MAX_ID_CHARACTERS = 256;
/** RFC 7515 §7.1. It also refuses two proofs in one field. */
const compact = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Parses the `DPoP` field, RFC 9449 §4.3 checks 2 to 5 and 7: a JWT with every claim, of the right type, with an
 * accepted algorithm and a public key for it. It does not verify the signature.
 *
 * @throws {Denial} `proof.invalid`.
 */
export function readProof(text: string, algorithms: ReadonlySet<string>): DpopProof {
  if (text.length > MAX_CHARACTERS || !compact.test(text))
    throw invalid(`is not a JWT of at most ${MAX_CHARACTERS} characters`);
  const { header, claims } = decode(text);
  if (header.typ !== 'dpop+jwt') throw invalid('has a typ other than dpop+jwt');
  // RFC 7515 §4.1.11: a critical parameter must be understood, and DPoP defines none.
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
    throw new Denial(reasons['proof.invalid'], 'the proof is not a JWT', { cause });
  }
}

function invalid(why: string): Denial {
  return new Denial(reasons['proof.invalid'], `the proof ${why}`);
}

/** The public key of a proof, RFC 7517 §4, with exactly the members of its thumbprint. */
export type ProofKey = Readonly<Record<string, string>>;

interface Shape {
  readonly constant: ProofKey;
  /** The lengths of the members in base64url. */
  readonly parts: Readonly<Record<string, { readonly least: number; readonly most: number }>>;
}

const length = (least: number, most = least) => ({ least, most });
const curve = (crv: string, chars: number): Shape => ({
  constant: { kty: 'EC', crv },
  parts: { x: length(chars), y: length(chars) },
});
// 2048 to 8192 bits: RFC 7518 §3.3 requires the first, and the second bounds the cost.
const rsa: Shape = { constant: { kty: 'RSA' }, parts: { n: length(342, 1368), e: length(1, 8) } };
const edwards: Shape = { constant: { kty: 'OKP', crv: 'Ed25519' }, parts: { x: length(43) } };

/** The public key of each algorithm, RFC 7518 §6 and RFC 8037 §2; none is symmetric. */
const shapes: Readonly<Record<string, Shape>> = {
  ES256: curve('P-256', 43),
  ES384: curve('P-384', 64),
  ES512: curve('P-521', 88),
  EdDSA: edwards,
  Ed25519: edwards,
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
};

/** The private members of a key, RFC 7518 §6.2.2, §6.3.2, §6.4.1. A proof must not contain one. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
const base64url = /^[A-Za-z0-9_-]+$/;

/**
 * The public key in a proof's `jwk`, which must fit `algorithm`, RFC 9449 §4.3.
 *
 * @throws {Denial} `proof.invalid` for any other.
 */
export function proofKeyOf(jwk: unknown, algorithm: string): ProofKey {
  if (!isObject(jwk)) throw unfit('is not an object');
  if (privateMembers.some((name) => Object.hasOwn(jwk, name))) throw unfit('has a private key');
  const shape = Object.hasOwn(shapes, algorithm) ? shapes[algorithm] : undefined;
  if (shape === undefined) throw unfit(`is for an algorithm that the gateway does not support`);
  const key: Record<string, string> = { ...shape.constant };
  for (const [name, value] of Object.entries(shape.constant)) {
    if (jwk[name] !== value) throw unfit(`is not a key for ${algorithm}: ${name} is not ${value}`);
  }
  for (const [name, { least, most }] of Object.entries(shape.parts)) {
    const value = jwk[name];
    if (typeof value !== 'string' || value.length < least || value.length > most || !base64url.test(value)) {
      throw unfit(`is not a key for ${algorithm}: ${name} is missing, too short or too long`);
    }
    key[name] = value;
  }
  return key;
}

function unfit(why: string): Denial {
  return new Denial(reasons['proof.invalid'], `jwk of the proof ${why}`);
}
