import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http } from '../http/node-http.ts';
import type { Address } from '../model/config.ts';
import type { Reason } from '../model/denial.ts';
import type { TlsObserver } from '../model/observer.ts';
import { createAdmissionScheduler } from './admission-scheduler.ts';
import { createConnections, endSoon, responseOn, watchSlowBodies } from './connections.ts';
import type { OwnCertificate } from './own-certificate.ts';
import { createSecureServer } from './secure-server.ts';

/** What a listener hands on. `head`: the first bytes after a WebSocket handshake; absent for all other requests. */
export type OnRequest = (request: IncomingMessage, response: ServerResponse, head?: Buffer) => void;

/** Answers bytes that are no request, on a socket where nothing was answered yet. */
export type OnMalformed = (reason: Reason, detail: string) => RawAnswer;

/** An answer without a `ServerResponse` to carry it. */
interface RawAnswer {
  readonly status: number;
  readonly requestId: string;
}

/** A certificate to show, and who is told of what becomes of handshakes. */
export interface Security {
  readonly certificate: OwnCertificate;
  readonly observer: TlsObserver;
}

/** What a listener listens on, and what it hands on. */
interface ListenOptions {
  readonly address: Address;
  /** The size of a header section at most. */
  readonly maxHeaderBytes: number;
  readonly onRequest: OnRequest;
  readonly onMalformed: OnMalformed;
  /** Undefined: plain HTTP. */
  readonly security?: Security | undefined;
}

/** A socket that listens, and how it ends. */
export interface Listener {
  readonly url: string;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left: streams above all. */
  close(graceMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 15_000;
const CHECK_MS = 1_000;
const KEEPALIVE_DELAY_MS = 60_000;
const IDLE_POLL_MS = 50;
/** Longer than the 60 s of most load balancers: whoever closes first meets no request on its way. */
const IDLE_MS = 65_000;

/**
 * Listens for HTTP/1.1, over TLS where there is a certificate. Node's parser in its strict mode refuses what is not
 * plainly a request: both lengths, bare line feeds, controls in values.
 *
 * @throws the system's error, `EADDRINUSE` among them.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { address, maxHeaderBytes, onRequest, onMalformed, security } = options;
  const connections = createConnections();
  const turns = createAdmissionScheduler();
  const serverOptions: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Node's own look, every 30 s, would let a client dribble for three times as long.
    connectionsCheckingInterval: CHECK_MS,
    // Of a whole request: it would end long uploads. A body must only not come too slowly.
    requestTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    // A client that is gone without a word (no power, a forgetful NAT) is noticed on a quiet stream too.
    keepAlive: true,
    keepAliveInitialDelay: KEEPALIVE_DELAY_MS,
    insecureHTTPParser: false,
    // Refused by ourselves, so that the log says so.
    requireHostHeader: false,
    noDelay: true,
    // Their body has ended before it begins: it emits no event.
    optimizeEmptyRequests: true,
    // Any other upgrade (h2c) is served as the plain request that it also is, RFC 9110 §7.8.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  };
  const server: Server =
    security === undefined
      ? http.createServer(serverOptions)
      : createSecureServer(serverOptions, security.certificate, security.observer);
  // Bounded by their bytes. Node's own bound drops what is beyond it, unseen: a second Authorization, say.
  server.maxHeadersCount = 0;
  // All of them: Node itself forgets those that were upgraded, and knows none in the middle of a TLS handshake.
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const serve: OnRequest = (request, response, head) => {
    // RFC 9112 §9.6: what comes behind a refusal that closes the connection, the rest of a late header section, is not served.
    if (request.socket.writableEnded) return;
    const earlier = connections.begun(request, response);
    if (earlier !== undefined) serveAfter(earlier, request, response);
    else turns.take(request.socket.remoteAddress ?? '', () => onRequest(request, response, head));
  };
  const serveAfter = (earlier: ServerResponse, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed || connections.serveAfter(earlier, socket, () => onRequest(request, response))) return;
    refuse(socket, 'request.framing', 'too many requests behind an unanswered one');
    socket.destroy();
  };
  const refuse = (socket: Duplex, reason: Reason, detail: string): void => {
    const { status, requestId } = onMalformed(reason, detail);
    if (connections.canBeAnswered(socket)) {
      socket.write(
        `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${requestId}\r\n\r\n`,
      );
    }
    endSoon(socket);
  };
  const served = security === undefined ? sockets : secured(server);
  const onSlow = (socket: Socket): void => refuse(socket, 'request.timeout', 'a slow body');
  watchSlowBodies(server, { sockets: served, connections, onSlow });
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('checkContinue', (request, response) => {
    // RFC 9110 §10.1.1: a body is asked for only by who reads it, which is after the decision, or for its sake.
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
  // Without a listener Node hangs up, and nothing would say why.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 'request.target', 'CONNECT');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { code = '' } = error;
    // RFC 9112 §9.6: what comes after `Connection: close` MUST NOT be processed; the answer before it is still due.
    if (code === 'HPE_CLOSED_CONNECTION' && connections.isDue(socket)) return;
    // A client that left in the middle of a request: whoever serves that sees it end. One that broke TLS, RFC 8446 §6.2:
    // no more can be said to it.
    const left = code === 'HPE_INVALID_EOF_STATE' && connections.isDue(socket);
    if (left || code === 'ECONNRESET' || code.startsWith('ERR_SSL_') || !socket.writable) socket.destroy();
    else refuse(socket, malformedReasons[code] ?? 'request.malformed', error.code ?? error.message);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const scheme = security === undefined ? 'http' : 'https';
  return { url: `${scheme}://${authorityOf(server)}`, close: (graceMs) => close(server, sockets, graceMs) };
}

/** The TLS connections of a server, which carry its requests. */
function secured(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

const malformedReasons: Readonly<Record<string, Reason>> = {
  HPE_HEADER_OVERFLOW: 'request.header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
};

function authorityOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function close(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection that becomes idle only now would otherwise stay until its keep-alive ends.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_POLL_MS);
  const end = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(end);
}
