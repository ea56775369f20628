/**
 * Records what gateways of this process answer, and the credentials of all requests to servers of this process. An
 * answer with an `X-Request-Id` is a gateway's own.
 *
 * @module
 */

import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAdmin, keepCredential, keepSecret, printed } from './secrecy.ts';

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  keepCredential(request.headers.authorization);
  keepSecret(request.headers['dpop']?.toString());
  // oxlint-disable-next-line typescript/unbound-method -- is called with its response below
  const { end } = response;
  response.end = (...args: unknown[]) => {
    const ended: unknown = Reflect.apply(end, response, args);
    // The header section as it was sent; `writeHead` keeps it nowhere else.
    const head = String(Reflect.get(response, '_header'));
    const isOwn = /^x-request-id:/im.test(head) || isAdmin(request.socket.localPort);
    // The proxy forwards its fields to the upstream, including the credential.
    const isPermit = request.url?.startsWith('/_sallyport/authorize') === true && response.statusCode === 200;
    if (isOwn && !isPermit) printed(`the answer to ${request.method} ${request.url}`, `${head}${textOf(args[0])}`);
    return ended as ServerResponse;
  };
});

function textOf(chunk: unknown): string {
  return typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.toString() : '';
}
