import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import { Denial } from '../../core/model/denial.ts';
import type { GrantedCall } from '../../core/model/grant.ts';
import type { Route } from '../../core/model/route.ts';
import { ClientAnswer } from '../../core/gateway/forward/client-answer.ts';
import type { ForwardParts } from '../../core/gateway/forward/forward.ts';
import { OpenStream } from '../../core/gateway/forward/open-streams.ts';
import type { ResponseHeaders } from '../../core/gateway/forward/response-headers.ts';
import { createRequestHeaders, createUpstreamPath, receivedPath } from '../../core/gateway/forward/upstream-request.ts';

/**
 * Creates the forwarding of a route's WebSocket handshakes, RFC 6455 §4. Then bytes flow both ways until one side
 * leaves or the token ends. `refuse` is called if the upstream does not answer: at most once, and before anything is
 * answered.
 *
 * http-proxy-3 gets a request and a 101 that the gateway has cleaned. Any
 * other answer is relayed like the other answers of an upstream.
 */
export function createForwardUpgrade(
  route: Route,
  parts: ForwardParts,
): (granted: GrantedCall, head: Buffer, refuse: (denial: Denial) => void) => Promise<void> {
  const { publicUrl, claimed, cleanAnswer, states, onUnauthorized, onBegun, streams, observer, clock } = parts;
  const upstreamPath = createUpstreamPath(route);
  const requestHeaders = createRequestHeaders(route, publicUrl, claimed, states);
  const { origin, connectTimeoutMs, responseTimeoutMs } = route.upstream;

  return async ({ call, grant, credential, held, counted }, head, refuse) => {
    const socket: Duplex = call.request.socket;
    if (socket.destroyed) return;
    const proxy = createProxyServer({ target: origin, changeOrigin: true, connectTimeout: connectTimeoutMs });
    let outgoing: ClientRequest | undefined;
    let state: 'waiting' | 'answered' | 'open' = 'waiting';

    const parts = { route, call, grant, held, isUpgrade: true, end: () => socket.destroy() };
    const stream = new OpenStream(parts, streams, clock);
    socket.once('close', () => {
      stream.stop();
      if (state === 'open') observer.streamClosed(route);
      // The library does not watch the client until the upstream has switched.
      else outgoing?.destroy();
    });
    proxy.on('proxyReqWs', (request, incoming) => {
      outgoing = request;
      // It stays counted: what the upstream does with a connection is not known.
      counted?.settle('unanswered');
      // The library parses and joins the path again. The path that was decided on is forwarded byte for byte.
      request.path = incoming.url ?? '/';
      // Until the end of the answer's header section: an upstream that sends a byte at a time is never idle.
      const late = new Denial('upstream.timeout', 'no answer to the handshake in time');
      const deadline = setTimeout(() => request.destroy(late), responseTimeoutMs);
      const inTime = (): void => clearTimeout(deadline);
      request.once('upgrade', inTime).once('response', inTime).once('close', inTime);
      request.setTimeout(responseTimeoutMs, () => request.destroy(late));
      // Before the library's own listener, which writes the header section from `headers`.
      request.once('upgrade', (answer: IncomingMessage) => {
        answer.headers = switchingHeaders(cleaned(answer, 101).fields);
      });
    });
    proxy.on('open', (upstream) => {
      endTogether(socket, upstream);
      if (socket.destroyed) return;
      state = 'open';
      call.response.statusCode = 101;
      onBegun?.(call, true);
      observer.streamOpened(route);
    });
    // Answered synchronously: after this call the library ends the socket.
    const onError = (error: Error): void => {
      if (state !== 'waiting' || socket.destroyed) return;
      state = 'answered';
      refuse(handshakeDenial(error));
    };
    proxy.on('error', onError);

    const headers = requestHeaders({ call, grant, credential });
    proxy.ws(handshake(call.request, headers, upstreamPath(receivedPath(call), call.query)), socket, head, {}, onError);
    // Replaces the library's listener, which forwards every field, frames a 204, and ignores back-pressure.
    outgoing?.removeAllListeners('response').once('response', relay);

    function cleaned({ rawHeaders: raw }: IncomingMessage, status: number): ResponseHeaders {
      return cleanAnswer({ raw, status, call, grant, willChange: false });
    }

    function relay(answer: IncomingMessage): void {
      const { statusCode: status = 502, statusMessage = '' } = answer;
      let headers: ResponseHeaders;
      try {
        // Node reads a 101 without its two fields as an answer. A proxy before the gateway may read it as a tunnel.
        if (status < 200) throw new Denial('upstream.invalid', 'a 101 that switches to nothing');
        headers = cleaned(answer, status);
      } catch (error) {
        onError(error as Error);
        outgoing?.destroy();
        return;
      }
      state = 'answered';
      if (status === 401) onUnauthorized?.(grant);
      const client = new ClientAnswer(call.response);
      client.begin(status, statusMessage, headers);
      client.show();
      // An answer that breaks off must not look complete.
      answer.once('close', () => {
        if (!answer.complete) socket.destroy();
      });
      answer.pipe(call.response);
    }
  };
}

/** How long one side may take to end after the other. */
const LINGER_MS = 1_000;

/**
 * Ends both sides together. The library half-closes one side when the other ends, and then waits without a limit.
 */
function endTogether(client: Duplex, upstream: Socket): void {
  const endSoon = (): void => void setTimeout(() => client.destroy(), LINGER_MS).unref();
  client.once('end', endSoon);
  // After the client got all bytes of the upstream.
  upstream.once('close', () => client.once('finish', endSoon));
  if (client.destroyed) upstream.destroy();
  else client.once('close', () => upstream.destroySoon());
}

/** The request for the library: the cleaned header section and path, and the two fields of a handshake. */
function handshake(request: IncomingMessage, fields: readonly string[], path: string): IncomingMessage {
  const headers = switchingHeaders(fields);
  return Object.create(request, { url: { value: path }, headers: { value: headers } }) as IncomingMessage;
}

/** The fields in the form of the library, with the two of a switch to WebSocket, RFC 6455 §4. */
function switchingHeaders(fields: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let i = 0; i < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  headers['connection'] = 'Upgrade';
  headers['upgrade'] = 'websocket';
  return headers;
}

function handshakeDenial(error: Error): Denial {
  if (error instanceof Denial) return error;
  if ('code' in error && String(error.code).startsWith('HPE_')) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  // The library's message for a connect timeout.
  const reason = error.message === 'ECONNECT_TIMEOUT' ? 'upstream.timeout' : 'upstream.unreachable';
  return new Denial(reason, error.message, { cause: error });
}
