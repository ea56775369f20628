import type { Clock } from '../lib/clock.ts';
import type { RotatingKeys } from '../lib/rotating-keys.ts';
import type { Call } from '../model/call.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import { answer } from './answer.ts';
import { isMetadataPath, metadataDocuments } from './resource-metadata.ts';

/** Answers a call for something that the gateway itself publishes, or says that this is none. */
export type Publish = (call: Call) => boolean;

/** RFC 9728 §3.2 documents and keys are public: any page may read them, with any header. */
const openToAll = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

/**
 * Creates the publishing of protected resource metadata and of the keys of signed identities, without a token, cacheable,
 * readable across origins.
 *
 * @returns a function that throws {Denial} `route.unknown` below the well-known path where no resource is, and where
 *   there are no keys.
 */
export function createPublish(config: Config, keySet: KeySet): Publish {
  const documents = metadataDocuments(config);
  return (call) => {
    if (call.path === KEY_SET_PATH) {
      const keys = keySet();
      if (keys === undefined) throw new Denial('route.unknown', 'no route signs identities');
      show(call, 'application/jwk-set+json', keys);
      return true;
    }
    const document = documents.get(call.path);
    if (document === undefined && !isMetadataPath(call.path)) return false;
    if (document === undefined) throw new Denial('route.unknown', 'no protected resource with this metadata path');
    show(call, 'application/json', document);
    return true;
  };
}

function show(call: Call, mediaType: string, document: Buffer): void {
  if (call.method === 'OPTIONS') answer(call, 204, openToAll);
  else if (call.method === 'GET' || call.method === 'HEAD') {
    answer(call, 200, { ...openToAll, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=300' }, document);
  } else answer(call, 405, { ...openToAll, Allow: 'GET, HEAD, OPTIONS' });
}

/** Where upstreams find the keys of signed identities. */
const KEY_SET_PATH = '/.well-known/sallyport-jwks.json';

/** The JWK Set, RFC 7517 §5, as it is now; undefined while no route signs identities. */
export type KeySet = () => Buffer | undefined;

/** Creates the set of the public keys that verify what `config`'s routes sign. */
export function createKeySet({ routes }: Config, keys: RotatingKeys, clock: Clock): KeySet {
  if (routes.every(({ upstream }) => upstream.signedIdentity === undefined)) return () => undefined;
  return () => Buffer.from(JSON.stringify({ keys: keys.published(clock()) }));
}
