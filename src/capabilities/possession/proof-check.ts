import { hash } from 'node:crypto';
import type { CryptoKey } from 'jose';
import * as errors from 'jose/errors';
import { compactVerify } from 'jose/jws/compact/verify';
import { importJWK } from 'jose/key/import';
import type { Call } from '../../core/model/call.ts';
import { Denial } from '../../core/model/denial.ts';
import type { CheckProof } from '../../core/model/on-route.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { createExpiringCache } from '../../core/lib/expiring-cache.ts';
import { keyThumbprint } from '../../core/lib/digest.ts';
import { keyFlaw } from '../../tokens/servers/jwk-set.ts';
import type { ReplayMemory } from '../../ports/shared.ts';
import { type DpopProof, readProof } from './dpop-proof.ts';
import type { Nonces } from './nonces.ts';
import { reasons } from './reasons.ts';
import type { Dpop } from './settings.ts';

/** Creates the proof check of a route. */
export type ProofChecks = (dpop: Dpop) => CheckProof;

/** The parts of a proof check. */
export interface ProofParts {
  /** The origin of the gateway as clients see it. */
  readonly publicUrl: string;
  readonly nonces: Nonces;
  readonly replays: ReplayMemory;
  readonly clock: Clock;
}

/** The assumed clock skew between two replicas. */
const SKEW_MS = 10_000;
/** The size of the cache of imported keys. Only callers with a bound token fill it. */
const MAX_KEYS = 10_000;

/**
 * Creates the checks of RFC 9449 §4.3, the cheapest first. Only a signature by the bound key is verified. The replay
 * cache comes last, so that only valid proofs fill it.
 *
 * @returns functions that reject with {Denial} `proof.missing`, `proof.invalid`, `proof.nonce`, `proof.replayed`,
 *   `token.binding` for another key, and with the errors of the replay cache.
 */
export function createProofChecks({ publicUrl, nonces, replays, clock }: ProofParts): ProofChecks {
  const isTarget = createIsTarget(publicUrl);
  const keys = createExpiringCache<CryptoKey>(MAX_KEYS, clock);

  return ({ algorithms, proofLifetimeMs, nonce: wantsNonce }) => {
    const accepted = new Set(algorithms);

    return async (call, token, thumbprint, owner) => {
      if (call.fields.dpop === undefined) throw new Denial(reasons['proof.missing'], 'no DPoP header');
      const proof = readProof(call.fields.dpop, accepted);
      requireThisRequest(proof, call);
      requireRecent(proof);
      if (proof.tokenHash !== hash('sha256', token, 'base64url')) throw invalid('ath is not the hash of this token');
      if (wantsNonce) requireNonce(proof);
      if (keyThumbprint(proof.key) !== thumbprint) {
        throw new Denial('token.binding', 'the key of the proof is not the key that the token is bound to');
      }
      await verifySignature(proof, thumbprint);
      // RFC 9449 §11.1: a jti counts for its key and target, in the proof's own spelling, since a request's target
      // has several spellings. A proof from the future is accepted for up to twice the lifetime, and remembered as
      // long.
      const use = hash('sha256', JSON.stringify([thumbprint, proof.id, proof.target]), 'base64url');
      if (!(await replays.firstSeen(use, proof.issuedAtMs + proofLifetimeMs + SKEW_MS, owner))) {
        throw new Denial(reasons['proof.replayed'], 'a proof with this jti was used before');
      }
    };

    function requireRecent({ issuedAtMs }: DpopProof): void {
      const now = clock();
      if (issuedAtMs + proofLifetimeMs < now) throw invalid(`iat is more than ${proofLifetimeMs / 1000} s ago`);
      if (issuedAtMs - proofLifetimeMs > now) throw invalid(`iat is more than ${proofLifetimeMs / 1000} s ahead`);
    }
  };

  function requireThisRequest({ method, target }: DpopProof, call: Call): void {
    if (method !== call.method) throw invalid(`htm is not ${call.method}`);
    if (!isTarget(target, call.path)) throw invalid(`htu is not ${publicUrl}${call.path}`);
  }

  function requireNonce({ nonce }: DpopProof): void {
    if (nonce === undefined) throw new Denial(reasons['proof.nonce'], 'the proof has no nonce');
    if (!nonces.accepts(nonce))
      throw new Denial(reasons['proof.nonce'], 'the nonce is not a recent one of the gateway');
  }

  async function verifySignature({ text, algorithm, key }: DpopProof, thumbprint: string): Promise<void> {
    const name = `${algorithm}.${thumbprint}`;
    let imported = keys.get(name);
    if (imported === undefined) {
      imported = await importKey(key, algorithm);
      keys.set(name, imported, Infinity);
    }
    try {
      await compactVerify(text, imported, { algorithms: [algorithm] });
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      throw new Denial(reasons['proof.invalid'], 'the signature of the proof does not match its key', { cause: error });
    }
  }
}

async function importKey(jwk: DpopProof['key'], algorithm: string): Promise<CryptoKey> {
  let key;
  try {
    key = await importJWK({ ...jwk }, algorithm);
  } catch (cause) {
    // For a point off its curve each implementation throws another kind of error.
    throw new Denial(reasons['proof.invalid'], `jwk of the proof is not a key for ${algorithm}`, { cause });
  }
  if (key instanceof Uint8Array) throw invalid('jwk is symmetric');
  const flaw = keyFlaw({ ...jwk });
  if (flaw !== undefined) throw invalid(`jwk ${flaw}`);
  return key;
}

function invalid(why: string): Denial {
  return new Denial(reasons['proof.invalid'], `invalid proof: ${why}`);
}

/** The characters of a URI, RFC 3986 §2. `new URL` would also read a backslash as a slash and skip a tab. */
const uriCharacters = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/;
const unreserved = /[\w\-.~]/;

/**
 * Creates the comparison of `htu` with the URI of a request, RFC 9449 §4.3: without query and fragment, after
 * normalization by syntax and scheme (RFC 3986 §6.2.2, §6.2.3). The URI is made of `publicUrl`, an origin, and never
 * of the Host header: otherwise a proof that a client made for an attacker's host could be used here.
 */
export function createIsTarget(publicUrl: string): (htu: string, path: string) => boolean {
  return (htu, path) => {
    const expected = publicUrl + path;
    if (htu === expected) return true;
    const normal = normalized(htu);
    return normal !== undefined && normal === normalized(expected);
  };
}

function normalized(uri: string): string | undefined {
  if (!uriCharacters.test(uri)) return undefined;
  const bare = uri.replace(/[?#].*/, '');
  if (!/^https?:\/\/[^/]/i.test(bare)) return undefined;
  // RFC 3986 §6.2.2.2: decode before the removal of dot segments.
  const url = URL.parse(bare.replaceAll(/%[0-9A-Fa-f]{2}/g, plainOctet));
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.origin + url.pathname;
}

/** Normalizes one octet, RFC 3986 §6.2.2.1 and §6.2.2.2: unreserved characters unencoded, others in capitals. */
function plainOctet(octet: string): string {
  const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
  return unreserved.test(character) ? character : octet.toUpperCase();
}
