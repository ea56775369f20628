import type { GatewayKeys, SettingsOf } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { isSameAddress } from '../../core/config/values.ts';
import type { Address } from '../../core/model/listen.ts';
import { Slot } from '../../core/model/slot.ts';
import type { ConfigReferents } from '../capability.ts';

/** The listener where proxies ask whether they may forward a request. They choose the request that it decides on. */
export type ForwardAuth = SettingsOf<GatewayKeys['forward_auth']> & { readonly listen: Address };

/** `forward_auth`; undefined: proxies cannot ask the gateway. */
export const forwardAuth = new Slot<ForwardAuth>();

/** Reads `forward_auth`. Problems are reported to the fields. */
export function readForwardAuth(
  field: Field<GatewayKeys['forward_auth']>,
  { listen, admin }: Pick<ConfigReferents, 'listen' | 'admin'>,
): ForwardAuth | undefined {
  const settings = field.settings();
  if (settings?.listen === undefined) return undefined;
  const { listen: own } = settings;
  // A caller of this listener chooses the request that the gateway decides on.
  for (const [key, other] of Object.entries({ listen, admin: admin?.listen }))
    if (isSameAddress(own, other)) field.get('listen').addProblem(`forward_auth and ${key} cannot share an address`);
  return { ...settings, listen: own };
}
