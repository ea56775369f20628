import type { OutgoingHttpHeaders } from 'node:http';
import { http } from '../http/node-http.ts';
import { drain } from '../http/yielding-stream.ts';
import type { Call } from '../model/call.ts';

/** An unread body up to this length is read and forgotten, so that the connection serves on. */
const FORGOTTEN_BYTES = 64 * 1024;
/** How long a client that still sends gets to read its answer. */
const LINGER_MS = 1_000;

/**
 * Answers a call ourselves, once. With a large or endless body still on its way the connection is closed, but only
 * after the client had the time to read: closing at once would reset the connection and lose the answer.
 */
export function answer(call: Call, status: number, headers: OutgoingHttpHeaders, body: string | Buffer = ''): void {
  const { request, response, fields } = call;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const stillSending =
    !request.complete &&
    (fields.transferEncoding !== undefined ||
      Number(fields.contentLength ?? 0) > FORGOTTEN_BYTES ||
      // RFC 9110 §10.1.1: it may send the body now or not, so that nobody knows where its next request begins.
      request.headers.expect !== undefined);
  // With its phrase: what failed before may have left another one.
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
  // To a HEAD nothing is ever written, which would hold its header section back.
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
