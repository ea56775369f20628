import type { RouteKeys, UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { algorithm } from '../../core/config/values.ts';
import { Slot } from '../../core/model/slot.ts';
import type { Proofs } from '../../core/model/endpoint.ts';

/** The settings of a route for proofs of possession, RFC 9449. */
export interface Dpop extends Proofs {
  /** Whether a proof needs a nonce of the gateway, RFC 9449 §9. */
  readonly nonce: boolean;
  /** The largest difference between `iat` of a proof and the clock of the gateway, in either direction. */
  readonly lifetimeMs: number;
}

/** Undefined: the route takes no DPoP. */
export const dpop = new Slot<Dpop>();

/** `dpop` of a route. A mapping enables it, even `{}`. */
export function readDpop(field: Field<RouteKeys['dpop']>, upstream: Field<UpstreamKeys | undefined>): Dpop | undefined {
  if (!field.present) return undefined;
  // RFC 9449 §4.3: the proof names the gateway's URL, and the upstream cannot use the token without a proof.
  if (upstream.get('token').text() === 'forward') {
    field.addProblem(
      'cannot be combined with token: forward: the upstream cannot check a proof made for the gateway',
      'key',
    );
  }
  return {
    required: field.get('required').isTrue(),
    nonce: field.get('nonce').isTrue(),
    algorithms: field.get('algorithms').list(algorithm),
    // SEP-1932: MCP servers take an `iat` within five minutes.
    lifetimeMs: field.get('proof_lifetime').duration(),
  };
}
