import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import { answer } from './answer.ts';
import { isMetadataPath, metadataDocuments, type PublishedResources } from './resource-metadata.ts';

/** Answers a call for a document of the gateway; false for any other call. */
export type Publish = (call: Call) => boolean;

/** Documents of the gateway, RFC 9728 §3.2, are public: any page may read them, with any header. */
export const openToAll = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

/**
 * Creates the answers with protected resource metadata.
 *
 * @param own The endpoints of the gateway itself.
 * @returns a function that throws {Denial} `route.unknown` for a well-known path without a resource.
 */
export function createPublish(resources: PublishedResources, own: readonly Endpoint[]): Publish {
  const documents = metadataDocuments(resources, own);
  return (call) => {
    const document = documents.get(call.path);
    if (document === undefined && !isMetadataPath(call.path)) return false;
    if (document === undefined) throw new Denial('route.unknown', 'no protected resource with this metadata path');
    sendDocument(call, 'application/json', document);
    return true;
  };
}

/** Answers with a public document. It needs no token, is cacheable and can be read across origins. */
export function sendDocument(call: Call, mediaType: string, document: Buffer): void {
  if (call.method === 'OPTIONS') answer(call, 204, openToAll);
  else if (call.method === 'GET' || call.method === 'HEAD') {
    answer(call, 200, { ...openToAll, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=300' }, document);
  } else answer(call, 405, { ...openToAll, Allow: 'GET, HEAD, OPTIONS' });
}
