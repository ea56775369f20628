import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readTraceContext, type TraceContext } from '../../lib/http/trace-context.ts';
import { plainAddress } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Fields } from '../../model/fields.ts';
import type { CertificateOf } from './client-certificate.ts';
import { noFields, readFields } from './fields.ts';
import type { ClientBehind } from './trusted-proxies.ts';

/** Splits a request target into path and query, and refuses every spelling but the canonical one. */
export type CanonicalTarget = (target: string) => Pick<Call, 'path' | 'query'>;

/** A call as it arrives: it has an id and a response, and nothing yet that a decision could rest on. */
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

/** The two fields that a refusal needs, to know whether a body is still to come. */
function framing({ headers }: IncomingMessage): Fields {
  const contentLength = headers['content-length'];
  const transferEncoding = headers['transfer-encoding'];
  if (contentLength === undefined && transferEncoding === undefined) return noFields;
  return { ...noFields, contentLength, transferEncoding };
}

/** Read at arrival, so that a call that is refused early belongs to its trace too. */
function traceOf({ headers }: IncomingMessage): TraceContext | undefined {
  // Node joins fields of one name by commas, as RFC 9110 §5.3 says.
  const { traceparent, tracestate, connection } = headers;
  if (typeof traceparent !== 'string') return undefined;
  // RFC 9110 §7.6.1: it was for this hop only.
  if (connection !== undefined && /(?:^|,)[ \t]*trace(?:parent|state)[ \t]*(?:,|$)/i.test(connection)) return undefined;
  return readTraceContext(traceparent, tracestate?.toString());
}

/**
 * The call with its header section and its canonical target, and with the client that a trusted proxy reports.
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
  // Node's parser accepts HTTP/0.9 and HTTP/2.0.
  if (request.httpVersionMajor !== 1) throw new Denial('request.malformed', `HTTP/${request.httpVersion}`);
  // RFC 9112 §6.1: MUST be treated as if the framing is faulty. A hop that knows only HTTP/1.0 ends the body elsewhere.
  if (request.httpVersionMinor === 0 && request.headers['transfer-encoding'] !== undefined) {
    throw new Denial('request.framing', 'a transfer coding in HTTP/1.0');
  }
  return readFields(request.rawHeaders);
}
