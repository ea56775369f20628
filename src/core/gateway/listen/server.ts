import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http, listenAt } from '../../lib/http/node-http.ts';
import type { Address } from '../../model/listen.ts';
import type { Reason } from '../../model/reasons.ts';
import type { TlsObserver } from '../../model/events.ts';
import { AdmissionScheduler, type EventLoop } from './admission-scheduler.ts';
import { Connections, endSoon, responseOn, watchSlowBodies } from './connections.ts';
import type { Certificates, OwnCertificate } from './certificates.ts';
import { constants } from 'node:crypto';
import { createServer } from 'node:https';
import type { SecureContextOptions } from 'node:tls';

/** Serves one request. `head`: the first bytes after a WebSocket handshake; undefined for all other requests. */
export type OnRequest = (request: IncomingMessage, response: ServerResponse, head?: Buffer) => void;

/** Decides the answer to bytes that are not a request. */
export type OnMalformed = (reason: Reason, detail: string) => RawAnswer;

interface RawAnswer {
  readonly status: number;
  readonly requestId: string;
}

/** The certificate of a TLS listener, and the observer of its handshakes. */
export interface Security {
  readonly certificate: OwnCertificate;
  readonly observer: TlsObserver;
}

interface ListenOptions {
  readonly address: Address;
  /** The largest header section, in bytes. */
  readonly maxHeaderBytes: number;
  /** How long a connection without a request stays open. */
  readonly idleMs: number;
  readonly onRequest: OnRequest;
  readonly onMalformed: OnMalformed;
  /** Undefined: plain HTTP. */
  readonly security?: Security | undefined;
  /** Default: the event loop of the process. */
  readonly loop?: EventLoop;
  /** Default: {@link defaultPatience}. */
  readonly patience?: Patience;
}

/** A socket that listens. */
export interface Listener {
  readonly url: string;
  /** Accepts no more connections, drains for `graceMs`, then ends the connections that are left, mostly streams. */
  close(graceMs: number): Promise<void>;
}

interface Patience {
  readonly handshakeMs: number;
  readonly headersMs: number;
}

/** 10 s and 15 s. */
export const defaultPatience: Patience = { handshakeMs: 10_000, headersMs: 15_000 };
const CHECK_MS = 1_000;
const KEEPALIVE_DELAY_MS = 60_000;
const IDLE_POLL_MS = 50;

/**
 * Listens for HTTP/1.1, over TLS where there is a certificate. Node's parser in its strict mode refuses what is not
 * plainly a request: both lengths, bare line feeds, control characters in values.
 *
 * @throws the system's error, `EADDRINUSE` among them.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const {
    address,
    maxHeaderBytes,
    idleMs,
    onRequest,
    onMalformed,
    security,
    loop,
    patience = defaultPatience,
  } = options;
  const connections = new Connections();
  const scheduler = new AdmissionScheduler(loop);
  const serverOptions: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: patience.headersMs,
    // With Node's default, 30 s, a slow client could keep a connection three times as long.
    connectionsCheckingInterval: CHECK_MS,
    // It limits a whole request and would end long uploads. `watchSlowBodies` limits the pace instead.
    requestTimeout: 0,
    keepAliveTimeout: idleMs,
    // Detects a client that is gone without closing (no power, an expired NAT entry) on a quiet stream too.
    keepAlive: true,
    keepAliveInitialDelay: KEEPALIVE_DELAY_MS,
    insecureHTTPParser: false,
    // `readFields` refuses such a request, so that it is logged.
    requireHostHeader: false,
    noDelay: true,
    // The body of such a request emits no event.
    optimizeEmptyRequests: true,
    // Any other upgrade (h2c) is served as the plain request that it also is, RFC 9110 §7.8.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  };
  const server: Server =
    security === undefined
      ? http.createServer(serverOptions)
      : createSecureServer(serverOptions, security, patience.handshakeMs);
  // The size in bytes limits them. Node's limit would drop further headers silently, such as a second Authorization.
  server.maxHeadersCount = 0;
  // Node does not list upgraded sockets, nor those in a TLS handshake.
  const sockets = openSockets(server, 'connection');
  const serve: OnRequest = (request, response, head) => {
    // RFC 9112 §9.6: requests after a refusal that closes the connection are not served.
    if (request.socket.writableEnded) return;
    const earlier = connections.begun(request, response);
    if (earlier !== undefined) serveAfter(earlier, request, response);
    else takeTurn(request, response, head);
  };
  const takeTurn: OnRequest = (request, response, head) =>
    scheduler.take(request.socket, () => {
      // The client may have left while the request waited.
      if (!response.closed) onRequest(request, response, head);
    });
  const serveAfter = (earlier: ServerResponse, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed || connections.serveAfter(earlier, socket, () => takeTurn(request, response))) return;
    refuse(socket, 'request.framing', 'too many requests behind an unanswered one');
    socket.destroy();
  };
  const refuse = (socket: Duplex, reason: Reason, detail: string): void => {
    scheduler.beginWaiting(socket);
    connections.refuse(socket, (mayAnswer) => {
      const { status, requestId } = onMalformed(reason, detail);
      if (mayAnswer) {
        socket.write(
          `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${requestId}\r\n\r\n`,
        );
      }
      endSoon(socket);
    });
  };
  // With TLS, requests come on other sockets than Node accepts.
  const served = security === undefined ? sockets : openSockets(server, 'secureConnection');
  const onSlow = (socket: Socket): void => refuse(socket, 'request.timeout', 'a slow body');
  watchSlowBodies(server, { sockets: served, connections, onSlow });
  server.on(security === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    // Before Node's own listener, which then ends the gateway's side too.
    socket.prependListener('end', () => scheduler.beginWaiting(socket));
  });
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('checkContinue', (request, response) => {
    // RFC 9110 §10.1.1: the client sends the body only once the gateway or the upstream reads it.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    serve(request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    // Node allows one answer at a time on a socket, and throws.
    if (connections.isDue(socket)) refuse(socket, 'request.framing', 'an upgrade behind an unanswered request');
    else serve(request, responseOn(request, socket), head);
  });
  // Without a listener, Node closes the connection and nothing is logged.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 'request.target', 'CONNECT');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { code = '' } = error;
    // RFC 9112 §9.6: bytes after `Connection: close` MUST NOT be processed. The answer before them is still due.
    if (code === 'HPE_CLOSED_CONNECTION' && connections.isDue(socket)) return;
    // The client left in the middle of a request: the stage that reads it sees its end. Or TLS failed, RFC 8446 §6.2:
    // nothing more can be written.
    const left = code === 'HPE_INVALID_EOF_STATE' && connections.isDue(socket);
    if (left || code === 'ECONNRESET' || code.startsWith('ERR_SSL_') || !socket.writable) socket.destroy();
    else refuse(socket, malformedReasons[code] ?? 'request.malformed', error.code ?? error.message);
  });
  const authority = await listenAt(server, address);
  const scheme = security === undefined ? 'http' : 'https';
  return { url: `${scheme}://${authority}`, close: (graceMs) => close(server, sockets, graceMs) };
}

function openSockets(server: Server, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return sockets;
}

const malformedReasons: Readonly<Record<string, Reason>> = {
  HPE_HEADER_OVERFLOW: 'request.header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
};

async function close(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection that becomes idle later would otherwise stay until its keep-alive timeout.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_POLL_MS);
  const end = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(end);
}

/** How long a client may resume a session, which keeps the result of verifying the client's certificate. */
const SESSION_SECONDS = 300;

/**
 * Creates the server for `https:`, RFC 9110 §4.2.2: HTTP/1.1 over TLS 1.2 or 1.3. A renewed certificate is used from
 * the next handshake on. Open connections stay. Earlier sessions are not resumed, because new tickets have new keys.
 *
 * If the gateway asks for client certificates, a client may still have none. A certificate that fails verification does
 * not end the handshake. The gateway logs the failure and treats the request as if no certificate was sent: only a
 * token that is bound to a certificate needs one.
 */
function createSecureServer(options: ServerOptions, { certificate, observer }: Security, handshakeMs: number): Server {
  const { clientCa } = certificate;
  const server = createServer({
    ...options,
    ...contextOf(certificate.current()),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: handshakeMs,
    requestCert: clientCa !== undefined,
    rejectUnauthorized: false,
  });
  certificate.onRenewed((certificates) => server.setSecureContext(contextOf(certificates)));
  // Node's own listener answers in plain text, as if the handshake were a malformed request.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    observer.handshakeFailed(error.code ?? error.message, socket.remoteAddress);
    socket.destroy();
  });
  if (clientCa !== undefined && clientCa !== 'any') {
    server.on('secureConnection', (socket) => {
      if (socket.authorized || socket.getPeerX509Certificate() === undefined) return;
      observer.clientCertificateRefused(String(socket.authorizationError), socket.remoteAddress);
    });
  }
  return server;
}

function contextOf({ cert, key, ca }: Certificates): SecureContextOptions {
  return {
    cert,
    key,
    // An empty list: without one, Node would trust its default authorities.
    ca: ca ?? [],
    minVersion: 'TLSv1.2',
    sessionTimeout: SESSION_SECONDS,
    // A client must not change its certificate on an open connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
