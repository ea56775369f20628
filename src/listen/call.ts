import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from '../model/call.ts';
import { readFields } from './fields.ts';

/** The path and query of a request target, in the one spelling that is let through. */
export type CanonicalTarget = (target: string) => Pick<Call, 'path' | 'query'>;

/** A call as it arrives: with an id and a place to answer, and nothing yet that a decision could rest on. */
export function arrive(request: IncomingMessage, response: ServerResponse): Call {
  return {
    id: randomUUID(),
    startedAt: performance.now(),
    method: request.method ?? '',
    path: '',
    query: '',
    fields: {
      raw: [],
      names: [],
      authorization: undefined,
      connection: undefined,
      contentEncoding: undefined,
      // Enough to refuse with: whether a body is still on its way.
      contentLength: request.headers['content-length'],
      contentType: undefined,
      transferEncoding: request.headers['transfer-encoding'],
      upgrade: undefined,
    },
    peer: request.socket.remoteAddress ?? '',
    request,
    response,
  };
}

/** The same call with its header section and target, read once and found canonical. */
export function canonicalCall(arrived: Call, canonicalTarget: CanonicalTarget): Call {
  const { id, startedAt, method, peer, request, response } = arrived;
  const fields = readFields(request.rawHeaders);
  const { path, query } = canonicalTarget(request.url ?? '');
  return { id, startedAt, method, path, query, fields, peer, request, response };
}
