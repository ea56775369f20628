import type { SharedStore } from '../model/config.ts';
import type { Field } from './field.ts';
import { storeUrl } from './urls.ts';
import { oneOf } from './values.ts';

/** `shared` and `on_store_failure`; what is wrong is reported to the fields. */
export function readShared(root: Field): SharedStore | undefined {
  const shared = root.get('shared');
  const onFailure = root.get('on_store_failure');
  const url = shared.read(storeUrl);
  const found = onFailure.read(oneOf('closed', 'open')) ?? 'closed';
  if (onFailure.present && !shared.present) onFailure.refuse('without shared there is no store that could fail', 'key');
  // What replicas share is sealed with it: a random one for each would leave them nothing to share.
  if (shared.present && !root.get('session_key').present) {
    shared.refuse('needs session_key: one and the same for all replicas', 'key');
  }
  return url === undefined ? undefined : { url, onFailure: found };
}
