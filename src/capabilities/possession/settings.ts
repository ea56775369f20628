import type { RouteKeys, SettingsOf, UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { Slot } from '../../core/model/slot.ts';

/** The settings of a route for proofs of possession, RFC 9449. */
export type Dpop = SettingsOf<RouteKeys['dpop']>;

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
  return field.settings();
}
