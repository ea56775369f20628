import type { ClientCredentials } from '../model/authorization-server.ts';
import { clientKey } from './client-key.ts';
import type { Field } from './field.ts';
import { oneOf } from './values.ts';

/** Stands for credentials that were reported missing. */
export const nobody: ClientCredentials = { clientId: '', clientAuth: 'client_secret_basic', clientSecret: '' };

/** Keys that say which client we are; without any of them, another mapping's may be taken. */
const identifying = ['client_id', 'client_secret', 'client_key', 'client_key_id'];

/** Whether a mapping names a client of its own. */
export function hasCredentials(field: Field): boolean {
  return identifying.some((key) => field.get(key).present);
}

/**
 * `client_id`, `client_auth` and, as it wants, `client_secret` or `client_key` with `client_key_id` of a mapping; what
 * it leaves out, it takes from `fallback`. A key beside the wrong method is refused: which of them would be used?
 */
export function readCredentials(field: Field, fallback: ClientCredentials | undefined): ClientCredentials {
  const [secret, key, keyId] = [field.get('client_secret'), field.get('client_key'), field.get('client_key_id')];
  const methods = oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt');
  const clientAuth = field.get('client_auth').read(methods) ?? fallback?.clientAuth ?? 'client_secret_basic';
  const clientId = field.get('client_id').text() ?? fallback?.clientId ?? '';

  if (clientAuth === 'private_key_jwt') {
    if (secret.present)
      secret.refuse('goes with client_secret_basic or client_secret_post, not private_key_jwt', 'key');
    const known = fallback?.clientAuth === 'private_key_jwt' ? fallback : undefined;
    if (!key.present && known === undefined) field.refuse('missing key: client_key (client_auth is private_key_jwt)');
    const found = key.read(clientKey) ?? known;
    if (found === undefined) return nobody;
    return { clientId, clientAuth, key: found.key, algorithm: found.algorithm, keyId: keyId.text() ?? found.keyId };
  }
  for (const other of [key, keyId]) {
    if (other.present) other.refuse('goes with client_auth: private_key_jwt only', 'key');
  }
  const known = fallback?.clientAuth === 'private_key_jwt' ? undefined : fallback;
  if (!secret.present && known === undefined) field.refuse('missing key: client_secret');
  return { clientId, clientAuth, clientSecret: secret.text() ?? known?.clientSecret ?? '' };
}
