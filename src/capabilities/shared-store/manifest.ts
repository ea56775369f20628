/**
 * The store that processes and replicas share, `docs/replicas.md`.
 *
 * @module
 */

import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { StoreSettings } from '../../ports/store.ts';
import type { Capability } from '../capability.ts';

export const sharedStore: Capability = {
  name: 'shared',
  store: { read: readShared, open: async (...about) => (await import('./store.ts')).openStore(...about) },
  examine: async (config) => (await import('./doctor.ts')).examineStore(config),
};

async function readShared(root: Field<GatewayKeys>): Promise<StoreSettings | undefined> {
  const shared = root.get('shared').given();
  const onFailure = root.get('on_store_failure');
  if (shared === undefined) {
    if (onFailure.present) onFailure.addProblem('applies only with shared', 'key');
    return undefined;
  }
  // Replicas seal what they share with it: with random keys, no replica could open what another one sealed.
  if (!root.get('session_key').present) {
    shared.addProblem('needs session_key: set the same one on all replicas', 'key');
  }
  const url = shared.read((await import('./settings.ts')).storeUrl);
  return { url: url ?? '', onFailure: onFailure.value() };
}
