import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type Running } from '../demo/listen.ts';

/** Where the proxy sends requests, and the token that it adds. */
export interface Onward {
  /** An origin. */
  readonly url: string;
  readonly token: string;
}

/**
 * Starts the one thing that the suite cannot do itself: adding `Authorization`. Everything else goes on as it came, both
 * ways, `Host` and `Origin` too; who leaves on one side is gone on the other.
 *
 * @param onward is asked with every request: the gateway starts later, because its configuration names the proxy.
 */
export function startBearerProxy(onward: () => Onward): Promise<Running> {
  return listen(
    createServer((request, response) => forward(request, response, onward())),
    0,
  );
}

function forward(request: IncomingMessage, response: ServerResponse, { url, token }: Onward): void {
  const { method, url: path, rawHeaders } = request;
  const headers = [...rawHeaders, 'Authorization', `Bearer ${token}`];
  const { hostname, port } = new URL(url);
  const outgoing = sendRequest({ hostname, port, method, path, headers, setHost: false });
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
    // An event stream may say nothing for long; its headers are the answer.
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
}
