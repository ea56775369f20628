import type { Clock } from '../../lib/clock.ts';
import type { RotatingKeys } from '../../lib/rotating-keys.ts';
import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import { Denial } from '../../model/denial.ts';
import { answer } from './answer.ts';
import { isMetadataPath, metadataDocuments } from './resource-metadata.ts';

/** The path at which upstreams find the keys of signed identities. */
const KEY_SET_PATH = '/.well-known/sallyport-jwks.json';

/** Answers a call for a document of the gateway; false for any other call. */
export type Publish = (call: Call) => boolean;

/** RFC 9728 §3.2 documents and keys are public: any page may read them, with any header. */
export const openToAll = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

/**
 * Creates the answers with protected resource metadata and with the keys of signed identities. They need no token, are
 * cacheable and can be read across origins.
 *
 * @returns a function that throws {Denial} `route.unknown` for a well-known path without a resource, and for the keys
 *   if no route signs identities.
 */
export function createPublish(config: Config, keySet: KeySet): Publish {
  const documents = metadataDocuments(config);
  return (call) => {
    if (call.path === KEY_SET_PATH) {
      const keys = keySet();
      if (keys === undefined) throw new Denial('route.unknown', 'no route signs identities');
      sendDocument(call, 'application/jwk-set+json', keys);
      return true;
    }
    const document = documents.get(call.path);
    if (document === undefined && !isMetadataPath(call.path)) return false;
    if (document === undefined) throw new Denial('route.unknown', 'no protected resource with this metadata path');
    sendDocument(call, 'application/json', document);
    return true;
  };
}

/** Answers with a document that any page may read. */
export function sendDocument(call: Call, mediaType: string, document: Buffer): void {
  if (call.method === 'OPTIONS') answer(call, 204, openToAll);
  else if (call.method === 'GET' || call.method === 'HEAD') {
    answer(call, 200, { ...openToAll, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=300' }, document);
  } else answer(call, 405, { ...openToAll, Allow: 'GET, HEAD, OPTIONS' });
}

/** Returns the current JWK Set, RFC 7517 §5; undefined if no route signs identities. */
export type KeySet = () => Buffer | undefined;

/** Creates the set of the public keys that verify the identities of the routes. */
export function createKeySet({ routes }: Config, keys: RotatingKeys, clock: Clock): KeySet {
  if (routes.every(({ upstream }) => upstream.signedIdentity === undefined)) return () => undefined;
  return () => Buffer.from(JSON.stringify({ keys: keys.published(clock()) }));
}
