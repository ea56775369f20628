/** @module What sections share that name authorization servers: the credentials of the gateway at them, and more. */

import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto';
import { isLoopbackUrl } from '../../core/lib/ip-address.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { AuthorizationServer, ClientCredentials } from '../../core/model/authorization-server.ts';
import { quoted } from '../../core/lib/wording.ts';
import type { Field } from '../../core/config/field.ts';
import type { Path } from '../../core/config/problems.ts';
import type { Violation } from '../../core/config/schema.ts';
import { entryOf, reject } from '../../core/config/values.ts';

/** A parser that reads the name of a server as the server. */
export function serverIn(servers: ReadonlyMap<string, AuthorizationServer>): (name: string) => AuthorizationServer {
  return entryOf(servers, 'is not in authorization_servers');
}

/** The warning about the issuer of the section at `path`, if a party on the way could replace its keys. */
export function insecureIssuer(path: Path, issuer: string): readonly Violation[] {
  if (!issuer.startsWith('http:') || isLoopbackUrl(issuer)) return [];
  const risk = 'is http and not on loopback: a party on the way can replace its keys; use https';
  return [{ path: [...path, 'issuer'], part: 'value', message: `${quoted(issuer)} ${risk}` }];
}

/** A placeholder for credentials that were reported missing. */
export const noCredentials: ClientCredentials = { clientId: '', clientAuth: 'client_secret_basic', clientSecret: '' };

/** Keys that identify the gateway as a client. A mapping without any of them may take those of another mapping. */
const identifying = ['client_id', 'client_secret', 'client_key', 'client_key_id'] as const;

type ClientKeys = Readonly<Record<(typeof identifying)[number], string | undefined>>;

/** Whether a mapping names a client of its own. */
export function hasCredentials(field: Field<ClientKeys | undefined>): boolean {
  return identifying.some((key) => field.get(key).present);
}

/**
 * `client_id` and, depending on `client_auth`, `client_secret` or `client_key` with `client_key_id` of a mapping. What
 * it leaves out comes from `fallback`. A key that does not fit the method is a problem, because it would be
 * unused.
 */
export function readCredentials(
  field: Field<ClientKeys | undefined>,
  clientAuth: ClientCredentials['clientAuth'],
  fallback?: ClientCredentials,
): ClientCredentials {
  const [secret, key, keyId] = [field.get('client_secret'), field.get('client_key'), field.get('client_key_id')];
  const clientId = field.get('client_id').text() ?? fallback?.clientId ?? '';

  if (clientAuth === 'private_key_jwt') {
    if (secret.present)
      secret.addProblem('applies only with client_auth: client_secret_basic or client_secret_post', 'key');
    const known = fallback?.clientAuth === 'private_key_jwt' ? fallback : undefined;
    if (!key.present && known === undefined)
      field.addProblem('missing key: client_key (client_auth is private_key_jwt)');
    const found = key.read(clientKey) ?? known;
    if (found === undefined) return noCredentials;
    return { clientId, clientAuth, key: found.key, algorithm: found.algorithm, keyId: keyId.text() ?? found.keyId };
  }
  for (const other of [key, keyId]) {
    if (other.present) other.addProblem('applies only with client_auth: private_key_jwt', 'key');
  }
  const known = fallback?.clientAuth === 'private_key_jwt' ? undefined : fallback;
  if (!secret.present && known === undefined) field.addProblem('missing key: client_secret');
  return { clientId, clientAuth, clientSecret: secret.text() ?? known?.clientSecret ?? '' };
}

interface ClientKey {
  readonly key: KeyObject;
  readonly algorithm: string;
  /** A JWK's own `kid`. */
  readonly keyId: string | undefined;
}

/**
 * What each kind of key signs with, the default first. For RSA that is RS256 although PS256 is the better scheme: of
 * the two it is the one that every server with `private_key_jwt` takes (OpenID Connect Discovery §3, RFC 8414 §2:
 * servers SHOULD support RS256). Where FAPI asks for PS256, the JWK's `alg` says so.
 */
const algorithmsOf: Readonly<Record<string, readonly string[]>> = {
  rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'prime256v1 ec': ['ES256'],
  'secp384r1 ec': ['ES384'],
  'secp521r1 ec': ['ES512'],
  ed25519: ['EdDSA', 'Ed25519'],
};

/** RFC 7518 §3.3: MUST be used with RSA. */
const LEAST_RSA_BITS = 2048;

/** A private key in PEM (PKCS#8, or older), or a private JWK as JSON text. No message shows any part of the key. */
export function clientKey(text: string): ClientKey {
  const jwk = text.trimStart().startsWith('{') ? jwkIn(text) : undefined;
  const key = privateKey(jwk === undefined ? text : { key: jwk, format: 'jwk' });
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details = {} } = key;
  const algorithms = algorithmsOf[details.namedCurve === undefined ? type : `${details.namedCurve} ${type}`];
  if (algorithms === undefined) return reject('is not an RSA, P-256, P-384, P-521 or Ed25519 key');
  if (type === 'rsa' && (details.modulusLength ?? 0) < LEAST_RSA_BITS) {
    reject(`is too small: an RSA key needs ${LEAST_RSA_BITS} bits (RFC 7518 §3.3)`);
  }
  const { alg = algorithms[0], kid } = jwk ?? {};
  if (typeof alg !== 'string' || !algorithms.includes(alg))
    return reject(`has an alg other than ${algorithms.join(', ')}`);
  if (kid !== undefined && typeof kid !== 'string') return reject('has a kid that is not a string');
  requireWorking(key);
  return { key, algorithm: alg, keyId: kid };
}

function jwkIn(text: string): JsonWebKey {
  const jwk = parsedJson(text);
  if (typeof jwk !== 'object' || jwk === null) return reject('is not a JWK: it is not valid JSON');
  if ('keys' in jwk) return reject('is a JWK Set: write one of its keys');
  const { d, use, key_ops: operations } = jwk as JsonWebKey;
  if (d === undefined) return reject('is not a private JWK: it has no d');
  if (use !== undefined && use !== 'sig') return reject('is a JWK that is not for signatures: its use is not sig');
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('sign'))) {
    return reject('is a JWK that is not for signing: its key_ops do not include sign');
  }
  return jwk as JsonWebKey;
}

function privateKey(source: Parameters<typeof createPrivateKey>[0]): KeyObject {
  try {
    return createPrivateKey(source);
  } catch {
    return reject('is not an unencrypted private key: PEM (PKCS#8), or a private JWK as JSON');
  }
}

/** Signs once: the parts of a JWK may belong to two keys, and no server would accept the signature of such a key. */
function requireWorking(key: KeyObject): void {
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  const message = Buffer.from('a message');
  try {
    if (verify(digest, message, createPublicKey(key), sign(digest, message, key))) return;
  } catch {
    // The same answer.
  }
  reject('cannot sign: its parts do not belong to one key');
}
