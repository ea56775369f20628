import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type Running } from '../demo/listen.ts';

/** The destination of the proxy, and the token that it adds. */
export interface Onward {
  /** An origin. */
  readonly url: string;
  readonly token: string;
}

/**
 * Starts a proxy that adds `Authorization`, which the suite cannot send. It forwards everything else unchanged in both
 * directions, including `Host` and `Origin`. If one side closes, the proxy closes the other.
 *
 * @param onward Called for each request: the gateway starts after the proxy, because its configuration names the proxy.
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
    // An event stream may stay silent for a long time after its headers.
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
}
