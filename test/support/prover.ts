import { hash, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

/** What a proof is for. */
interface ProvenRequest {
  readonly url: string;
  readonly method?: string;
  readonly token?: string;
}

/** Changes to a proof; `undefined` leaves a member out. */
export interface OtherProof {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey;
}

/** A client with a key of its own, RFC 9449 §4. */
export interface Prover {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
  /** The `cnf` claim of a token that is bound to the key. */
  readonly cnf: { readonly jkt: string };
  /** Makes a proof by RFC 9449 §4.2, with the changes of a test. */
  proof(request: ProvenRequest, otherwise?: OtherProof): Promise<string>;
  /** The two header fields of a request with a bound token. */
  headers(request: ProvenRequest & { readonly token: string }, otherwise?: OtherProof): Promise<Record<string, string>>;
}

/** Makes one with a fresh key. */
export async function createProver(alg = 'ES256', clock: () => number = Date.now): Promise<Prover> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const proof: Prover['proof'] = ({ url, method = 'GET', token }, { claims, header, key = privateKey } = {}) => {
    const payload = {
      jti: randomUUID(),
      htm: method,
      htu: url,
      iat: Math.floor(clock() / 1000),
      ...(token !== undefined && { ath: hash('sha256', token, 'base64url') }),
      ...claims,
    };
    return new SignJWT(payload).setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header }).sign(key);
  };
  return {
    jwk,
    privateKey,
    cnf: { jkt: await calculateJwkThumbprint(jwk, 'sha256') },
    proof,
    headers: async (request, otherwise) => ({
      authorization: `DPoP ${request.token}`,
      dpop: await proof(request, otherwise),
    }),
  };
}
