/** The members of a public key, RFC 7517 §4 and RFC 7518 §6, that decide for which algorithms it is. */
export interface PublicKey {
  readonly kty?: unknown;
  readonly crv?: unknown;
  readonly alg?: unknown;
  readonly use?: unknown;
}

/** RFC 7518 §3.4, RFC 8037 §3.1 and RFC 9864 §2.2. */
const byCurve = new Map([
  ['P-256', ['ES256']],
  ['P-384', ['ES384']],
  ['P-521', ['ES512']],
  ['Ed25519', ['EdDSA', 'Ed25519']],
]);

/** RFC 7518 §3.3 and §3.5. */
const forRsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];

/** All of them. Asymmetric ones alone: a published key must not be a secret that signs (RFC 8725 §3.1). */
export const signatureAlgorithms: readonly string[] = [...forRsa, ...[...byCurve.values()].flat()];

/** The signature algorithms that a key can be used for, the usual one first. */
export function keyAlgorithms({ kty, crv, alg, use = 'sig' }: PublicKey): readonly string[] {
  if (use !== 'sig') return [];
  if (typeof alg === 'string') return [alg];
  return kty === 'RSA' ? forRsa : (byCurve.get(String(crv)) ?? []);
}
