import type { Dpop } from '../model/route.ts';
import type { Field } from './field.ts';
import { algorithm, duration } from './values.ts';

/** What RFC 9449 §11.6 leaves: asymmetric ones, the commonest first. */
const everyAlgorithm: readonly string[] = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
];

/** `dpop` of a route; a mapping switches it on, `{}` as well. */
export function readDpop(field: Field, upstream: Field): Dpop | undefined {
  if (!field.present) return undefined;
  // RFC 9449 §4.3: the proof is for this gateway's URL, and without it the token is no good to anybody.
  if (upstream.get('token').text() === 'forward') {
    field.refuse(
      'cannot be combined with token: forward: the upstream could not check a proof that was made for us',
      'key',
    );
  }
  const algorithms = field.get('algorithms');
  return {
    required: field.get('required').isTrue(),
    nonce: field.get('nonce').isTrue(),
    algorithms: algorithms.present ? algorithms.list(algorithm) : everyAlgorithm,
    // SEP-1932: MCP servers take an `iat` within five minutes.
    lifetimeMs: field.get('proof_lifetime').read(duration('1ms', '5m')) ?? 5 * 60_000,
  };
}
