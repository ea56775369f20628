import type { Call } from '../model/call.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import { answer } from './answer.ts';
import { isMetadataPath, metadataDocuments } from './resource-metadata.ts';

/** Answers a call for something that the gateway itself publishes, or says that this is none. */
export type Publish = (call: Call) => boolean;

/** RFC 9728 §3.2 documents are public: any page may read them, with any header. */
const openToAll = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

/**
 * Creates the publishing of protected resource metadata, without a token, cacheable, readable across origins.
 *
 * @returns a function that throws {Denial} `route.unknown` below the well-known path where no resource is.
 */
export function createPublish(config: Config): Publish {
  const documents = metadataDocuments(config);
  return (call) => {
    const document = documents.get(call.path);
    if (document === undefined && !isMetadataPath(call.path)) return false;
    if (document === undefined) throw new Denial('route.unknown', 'no protected resource with this metadata path');
    if (call.method === 'OPTIONS') answer(call, 204, openToAll);
    else if (call.method === 'GET' || call.method === 'HEAD') {
      answer(
        call,
        200,
        { ...openToAll, 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' },
        document,
      );
    } else answer(call, 405, { ...openToAll, Allow: 'GET, HEAD, OPTIONS' });
    return true;
  };
}
