import type { Clock } from '../lib/clock.ts';
import type { RotatingKeys } from '../lib/rotating-keys.ts';
import type { Config } from '../model/config.ts';

/** Where upstreams find the keys of signed identities. */
export const KEY_SET_PATH = '/.well-known/sallyport-jwks.json';

/** The JWK Set, RFC 7517 §5, as it is now; undefined while no route signs identities. */
export type KeySet = () => Buffer | undefined;

/** Creates the set of the public keys that verify what `config`'s routes sign. */
export function createKeySet({ routes }: Config, keys: RotatingKeys, clock: Clock): KeySet {
  if (routes.every(({ upstream }) => upstream.signedIdentity === undefined)) return () => undefined;
  return () => Buffer.from(JSON.stringify({ keys: keys.published(clock()) }));
}
