/**
 * The store that processes and replicas share, `docs/replicas.md`.
 *
 * @module
 */

import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { StoreSettings } from '../../ports/store.ts';
import type { Capability } from '../capability.ts';
import { storeUrl } from './settings.ts';
import { openStore } from './store.ts';

export const sharedStore: Capability = {
  name: 'shared',
  store: { read: readShared, open: openStore },
  examine: async (config) => (await import('./doctor.ts')).examineStore(config),
};

function readShared(root: Field<GatewayKeys>): StoreSettings | undefined {
  const shared = root.get('shared');
  const onFailure = root.get('on_store_failure');
  const url = shared.read(storeUrl);
  const found = onFailure.value();
  if (onFailure.present && !shared.present) onFailure.addProblem('applies only with shared', 'key');
  // Replicas seal what they share with it: with random keys, no replica could open what another one sealed.
  if (shared.present && !root.get('session_key').present) {
    shared.addProblem('needs session_key: set the same one on all replicas', 'key');
  }
  return url === undefined ? undefined : { url, onFailure: found };
}
