import { createECDH, createPrivateKey, hkdfSync, type KeyObject, sign } from 'node:crypto';
import { keyThumbprint } from '../core/lib/digest.ts';

/** The public part of a P-256 signing key, RFC 7517 §4 and RFC 7518 §6.2.1. */
interface PublicKey {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
  /** The key's own thumbprint, RFC 7638. */
  readonly kid: string;
}

/** A signing key: its private and its public part. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: PublicKey;
}

/** Signing keys derived from a secret and the day, so that all replicas with the secret have the same keys. */
export interface RotatingKeys {
  /** The key to sign with. The same object until the next day. `now` in ms since the Unix epoch. */
  current(now: number): SigningKey;
  /**
   * The keys of yesterday, today and tomorrow. A verifier that fetched them at any time can verify what was signed
   * within a day before and a day after.
   */
  published(now: number): readonly PublicKey[];
  /** The keys of {@link published}, for a library that signs: today's first. */
  around(now: number): readonly SigningKey[];
}

/** The time for which one key signs. */
export const ROTATION_MS = 24 * 3_600_000;

/** The order of P-256's base point, FIPS 186-5 and SP 800-186 §3.2.1.3. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** 64 bits more than the order, FIPS 186-5 §A.2.1: the bias of the remainder is negligible, and no candidate fails. */
const CANDIDATE_OCTETS = 40;

/**
 * Creates the keys of `secret`, with at least 128 bits of entropy: an attacker can test guesses on a published key.
 *
 * @param purpose Keys of one purpose never verify what a key of another one signed.
 */
export function createRotatingKeys(secret: string | Buffer, purpose = 'identity'): RotatingKeys {
  const known = new Map<number, SigningKey>();

  function keyOf(day: number): SigningKey {
    const found = known.get(day);
    if (found !== undefined) return found;
    const made = derive(secret, `${purpose} ES256 ${day}`);
    for (const other of known.keys()) if (Math.abs(other - day) > 2) known.delete(other);
    known.set(day, made);
    return made;
  }

  return {
    current: (now) => keyOf(dayOf(now)),
    published(now) {
      const today = dayOf(now);
      return [today - 1, today, today + 1].map((day) => keyOf(day).publicKey);
    },
    around(now) {
      const today = dayOf(now);
      return [today, today - 1, today + 1].map(keyOf);
    },
  };
}

function dayOf(now: number): number {
  return Math.floor(now / ROTATION_MS);
}

/** HKDF, RFC 5869, then a private key from its octets by FIPS 186-5 §A.2.1. */
function derive(secret: string | Buffer, info: string): SigningKey {
  const octets = Buffer.from(hkdfSync('sha256', secret, 'sallyport', info, CANDIDATE_OCTETS));
  const scalar = (BigInt(`0x${octets.toString('hex')}`) % (ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex');
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(d);
  const point = ecdh.getPublicKey();
  const x = point.subarray(1, 33).toString('base64url');
  const y = point.subarray(33).toString('base64url');
  const key = { kty: 'EC', crv: 'P-256', x, y } as const;
  return {
    privateKey: createPrivateKey({ key: { ...key, d: d.toString('base64url') }, format: 'jwk' }),
    publicKey: { ...key, use: 'sig', alg: 'ES256', kid: keyThumbprint(key) },
  };
}

const OCTETS = 32;

/**
 * Signs with ES256, RFC 7518 §3.4.
 *
 * @param input In ASCII, as a JWS signing input is.
 * @param key On P-256.
 * @returns r and s, 32 octets each, in base64url.
 */
export function signEs256(input: string, key: KeyObject): string {
  // With `dsaEncoding: 'ieee-p1363'` Node writes this form itself, in twice the time: 124 µs, not 58 (Node 24.21).
  const der = sign('sha256', Buffer.from(input), key);
  // SEQUENCE { INTEGER r, INTEGER s }, X.690 §8.3: at most 72 octets on P-256, so that each length is one octet.
  const r = integer(der, 2);
  const s = integer(der, 4 + r.length);
  const raw = Buffer.alloc(2 * OCTETS);
  place(r, raw, OCTETS);
  place(s, raw, 2 * OCTETS);
  return raw.toString('base64url');
}

function integer(der: Buffer, at: number): Buffer {
  return der.subarray(at + 2, at + 2 + (der[at + 1] as number));
}

/** Right-aligned before `end`: DER leaves leading zeros out, and puts one before a number that looks negative. */
function place(value: Buffer, raw: Buffer, end: number): void {
  const digits = value.subarray(Math.max(0, value.length - OCTETS));
  digits.copy(raw, end - digits.length);
}
