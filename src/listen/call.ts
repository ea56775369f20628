import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import { noFields, readFields } from './fields.ts';

/** The path and query of a request target, in the one spelling that is let through. */
export type CanonicalTarget = (target: string) => Pick<Call, 'path' | 'query'>;

/** A call as it arrives: with an id and a place to answer, and nothing yet that a decision could rest on. */
export function arrive(request: IncomingMessage, response: ServerResponse): Call {
  return {
    id: randomUUID(),
    decision: randomUUID(),
    startedAt: performance.now(),
    method: request.method ?? '',
    path: '',
    query: '',
    fields: {
      ...noFields,
      // Enough to refuse with: whether a body is still on its way.
      contentLength: request.headers['content-length'],
      transferEncoding: request.headers['transfer-encoding'],
    },
    peer: request.socket.remoteAddress ?? '',
    client: request.socket.remoteAddress ?? '',
    certificateThumbprint: undefined,
    request,
    response,
  };
}

/** The same call with its header section and target, read once and found canonical. */
export function canonicalCall(arrived: Call, canonicalTarget: CanonicalTarget): Call {
  // Node's parser lets HTTP/0.9 and HTTP/2.0 pass.
  const { request } = arrived;
  if (request.httpVersionMajor !== 1) throw new Denial('request.malformed', `HTTP/${request.httpVersion}`);
  const fields = readFields(request.rawHeaders);
  const { path, query } = canonicalTarget(request.url ?? '');
  return { ...arrived, path, query, fields };
}
