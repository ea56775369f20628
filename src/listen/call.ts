import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readTraceContext, type TraceContext } from '../http/trace-context.ts';
import { plainAddress } from '../lib/ip-address.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Fields } from '../model/fields.ts';
import type { CertificateOf } from './client-certificate.ts';
import { noFields, readFields } from './fields.ts';
import type { ClientBehind } from './trusted-proxies.ts';

/** The path and query of a request target, in the one spelling that is let through. */
export type CanonicalTarget = (target: string) => Pick<Call, 'path' | 'query'>;

/** A call as it arrives: with an id and a place to answer, and nothing yet that a decision could rest on. */
export function arrive(request: IncomingMessage, response: ServerResponse, certificateOf: CertificateOf): Call {
  const peer = plainAddress(request.socket.remoteAddress ?? '');
  return {
    id: randomUUID(),
    decision: randomUUID(),
    startedAt: performance.now(),
    method: request.method ?? '',
    path: '',
    query: '',
    fields: framing(request),
    peer,
    client: peer,
    forwardedFor: peer,
    certificateThumbprint: certificateOf(request.socket),
    trace: traceOf(request),
    request,
    response,
  };
}

/** Enough to refuse with: whether a body is still on its way. */
function framing({ headers }: IncomingMessage): Fields {
  const contentLength = headers['content-length'];
  const transferEncoding = headers['transfer-encoding'];
  if (contentLength === undefined && transferEncoding === undefined) return noFields;
  return { ...noFields, contentLength, transferEncoding };
}

/** Known from the first moment, for what is refused early has its place in the trace too. */
function traceOf({ headers }: IncomingMessage): TraceContext | undefined {
  // Node joins fields of one name by commas, as RFC 9110 §5.3 says.
  const { traceparent, tracestate, connection } = headers;
  if (typeof traceparent !== 'string') return undefined;
  // RFC 9110 §7.6.1: it was for this hop only.
  if (connection !== undefined && /(?:^|,)[ \t]*trace(?:parent|state)[ \t]*(?:,|$)/i.test(connection)) return undefined;
  return readTraceContext(traceparent, tracestate?.toString());
}

/**
 * The same call with its header section and target, read once and found canonical, and from the client that a trusted
 * proxy speaks for.
 */
export function canonicalCall(
  arrived: Call,
  canonicalTarget: CanonicalTarget,
  clientBehind: ClientBehind | undefined,
): Call {
  const { request, peer } = arrived;
  const fields = headerSection(request);
  const { path, query } = canonicalTarget(request.url ?? '');
  return { ...arrived, ...clientBehind?.(peer, fields), path, query, fields };
}

/** Reads the header section of a request of HTTP/1.x. */
export function headerSection(request: IncomingMessage): Fields {
  // Node's parser lets HTTP/0.9 and HTTP/2.0 pass.
  if (request.httpVersionMajor !== 1) throw new Denial('request.malformed', `HTTP/${request.httpVersion}`);
  // RFC 9112 §6.1: MUST be treated as if the framing is faulty. A hop that knows only HTTP/1.0 ends the body elsewhere.
  if (request.httpVersionMinor === 0 && request.headers['transfer-encoding'] !== undefined) {
    throw new Denial('request.framing', 'a transfer coding in HTTP/1.0');
  }
  return readFields(request.rawHeaders);
}
