import { createServer, ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../model/config.ts';
import type { Reason } from '../model/denial.ts';

/** What a listener hands on. `head`: the first bytes after a WebSocket handshake; absent for all other requests. */
export type OnRequest = (request: IncomingMessage, response: ServerResponse, head?: Buffer) => void;

/** Answers bytes that are no request, on a socket where nothing was answered yet. */
export type OnMalformed = (reason: Reason, detail: string) => RawAnswer;

/** An answer without a `ServerResponse` to carry it. */
interface RawAnswer {
  readonly status: number;
  readonly requestId: string;
}

/** A socket that listens, and how it ends. */
export interface Listener {
  readonly url: string;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left: streams above all. */
  close(graceMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 15_000;
const IDLE_POLL_MS = 50;
const LINGER_MS = 1_000;

/**
 * Listens for HTTP/1.1. Node's parser in its strict mode refuses what is not plainly a request: both lengths, bare line
 * feeds, controls in values.
 *
 * @throws the system's error, `EADDRINUSE` among them.
 */
export async function listen(
  address: Address,
  maxHeaderBytes: number,
  onRequest: OnRequest,
  onMalformed: OnMalformed,
): Promise<Listener> {
  const newest = new WeakMap<Duplex, Exchange>();
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: HEADERS_TIMEOUT_MS,
    insecureHTTPParser: false,
    // Refused by ourselves, so that the log says so.
    requireHostHeader: false,
    noDelay: true,
    // Any other upgrade (h2c) is served as the plain request that it also is, RFC 9110 §7.8.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  });
  // Bounded by their bytes. Node's own bound drops what is beyond it, unseen: a second Authorization, say.
  server.maxHeadersCount = 0;
  const upgraded = new Set<Duplex>();
  const serve: OnRequest = (request, response, head) => {
    newest.set(request.socket, { response, queued: isDue(newest.get(request.socket)) });
    onRequest(request, response, head);
  };
  const refuse = (socket: Duplex, reason: Reason, detail: string): void => {
    const { status, requestId } = onMalformed(reason, detail);
    if (canBeAnswered(newest.get(socket))) {
      socket.write(
        `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${requestId}\r\n\r\n`,
      );
    }
    endSoon(socket);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    socket.on('error', () => socket.destroy());
    // Node allows one answer at a time on a socket, and throws.
    if (isDue(newest.get(socket))) refuse(socket, 'request.framing', 'an upgrade behind an unanswered request');
    else serve(request, responseOn(request, socket), head);
  });
  // Without a listener Node hangs up, and nothing would say why.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 'request.target', 'CONNECT');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // RFC 9112 §9.6: what comes after `Connection: close` MUST NOT be processed; the answer before it is still due.
    if (error.code === 'HPE_CLOSED_CONNECTION' && isDue(newest.get(socket))) return;
    // A client that left in the middle of a request: whoever serves that sees it end.
    const left = error.code === 'HPE_INVALID_EOF_STATE' && isDue(newest.get(socket));
    if (left || error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, malformedReasons[error.code ?? ''] ?? 'request.malformed', error.code ?? error.message);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { url: urlOf(server), close: (graceMs) => close(server, upgraded, graceMs) };
}

/** The newest request of a connection. `queued`: behind one that was not answered yet (pipelining). */
interface Exchange {
  readonly response: ServerResponse;
  readonly queued: boolean;
}

/** Answers go out in order, so that with the newest all are out. */
function isDue(exchange: Exchange | undefined): boolean {
  return exchange !== undefined && !exchange.response.writableFinished;
}

/**
 * Whether an answer to malformed bytes would be taken for what it is. Behind a whole request that waits for its own
 * answer it would be taken for that one, and after the beginning of an answer for a part of it.
 */
function canBeAnswered(exchange: Exchange | undefined): boolean {
  if (exchange === undefined || !isDue(exchange)) return true;
  const { response, queued } = exchange;
  return !queued && !response.headersSent && !response.req.complete;
}

/** Node gives an upgrade no response; this one answers it like any other request, and ends the socket after. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => endSoon(socket));
  return response;
}

/** Lets the peer read what was written; one that never hangs up must not keep the socket for ever. */
function endSoon(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const malformedReasons: Readonly<Record<string, Reason>> = {
  HPE_HEADER_OVERFLOW: 'request.header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
};

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function close(server: Server, upgraded: ReadonlySet<Duplex>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection that becomes idle only now would otherwise stay until its keep-alive ends.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_POLL_MS);
  const end = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(end);
}
