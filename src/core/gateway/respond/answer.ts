import type { OutgoingHttpHeaders } from 'node:http';
import { http } from '../../lib/http/node-http.ts';
import { drain } from '../../lib/http/bodies.ts';
import type { Call } from '../../model/call.ts';

/** An unread body up to this size is drained, so that the connection stays usable. */
const DRAINED_BYTES = 64 * 1024;
/** How long a client that is still sending has to read its answer. */
const LINGER_MS = 1_000;

/**
 * Answers a call from the gateway itself, once. If a large or endless body is still to come, the connection is closed
 * after the client had time to read: closing at once would reset it and lose the answer.
 */
export function answer(call: Call, status: number, headers: OutgoingHttpHeaders, body: string | Buffer = ''): void {
  const { request, response, fields } = call;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // `complete` would depend on what was parsed before the request began. A body that no stage has read to its end is
  // still to come, whatever part of it has arrived.
  const stillSending =
    !request.readableEnded &&
    (fields.transferEncoding !== undefined ||
      Number(fields.contentLength ?? 0) > DRAINED_BYTES ||
      // RFC 9110 §10.1.1: the client may send the body or not, so the start of its next request is unknown.
      request.headers.expect !== undefined);
  // With its phrase: an answer that failed before this one may have set another.
  response.writeHead(status, http.STATUS_CODES[status], {
    ...headers,
    // RFC 9110 §8.6: MUST NOT with a 204.
    ...(status !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
    'X-Request-Id': call.id,
    ...(stillSending && { Connection: 'close' }),
  });
  if (!stillSending) {
    response.end(body);
    return;
  }
  // The answer to a HEAD has no body, without which Node would hold the header section back.
  response.flushHeaders();
  response.write(body);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS);
  request.once('close', end);
  drain(request);
}
