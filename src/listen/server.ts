import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../model/config.ts';
import type { Reason } from '../model/denial.ts';
import type { TlsObserver } from '../model/observer.ts';
import { createExchanges, endSoon, responseOn } from './exchanges.ts';
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

/** A socket that listens, and how it ends. */
export interface Listener {
  readonly url: string;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left: streams above all. */
  close(graceMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 15_000;
const IDLE_POLL_MS = 50;

/**
 * Listens for HTTP/1.1, over TLS where there is a certificate. Node's parser in its strict mode refuses what is not
 * plainly a request: both lengths, bare line feeds, controls in values.
 *
 * @throws the system's error, `EADDRINUSE` among them.
 */
export async function listen(
  address: Address,
  maxHeaderBytes: number,
  onRequest: OnRequest,
  onMalformed: OnMalformed,
  security?: Security,
): Promise<Listener> {
  const exchanges = createExchanges();
  const options: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: HEADERS_TIMEOUT_MS,
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
      ? createServer(options)
      : createSecureServer(options, security.certificate, security.observer);
  // Bounded by their bytes. Node's own bound drops what is beyond it, unseen: a second Authorization, say.
  server.maxHeadersCount = 0;
  // All of them: Node itself forgets those that were upgraded, and knows none in the middle of a TLS handshake.
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const serve: OnRequest = (request, response, head) => {
    exchanges.begun(request, response);
    onRequest(request, response, head);
  };
  const refuse = (socket: Duplex, reason: Reason, detail: string): void => {
    const { status, requestId } = onMalformed(reason, detail);
    if (exchanges.canBeAnswered(socket)) {
      socket.write(
        `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${requestId}\r\n\r\n`,
      );
    }
    endSoon(socket);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    // Node allows one answer at a time on a socket, and throws.
    if (exchanges.isDue(socket)) refuse(socket, 'request.framing', 'an upgrade behind an unanswered request');
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
    if (code === 'HPE_CLOSED_CONNECTION' && exchanges.isDue(socket)) return;
    // A client that left in the middle of a request: whoever serves that sees it end. One that broke TLS, RFC 8446 §6.2:
    // no more can be said to it.
    const left = code === 'HPE_INVALID_EOF_STATE' && exchanges.isDue(socket);
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
