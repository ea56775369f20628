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
export interface RawAnswer {
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
  const answering = new WeakMap<Duplex, ServerResponse>();
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
  const upgraded = new Set<Duplex>();
  const serve: OnRequest = (request, response, head) => {
    answering.set(request.socket, response);
    onRequest(request, response, head);
  };
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(request, responseOn(request, socket), head);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // Bytes after an answer has begun would be taken for a part of it.
    const begun = answering.get(socket);
    if (begun !== undefined && begun.headersSent && !begun.writableFinished) socket.destroy();
    else refuseMalformed(socket, error, onMalformed);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { url: urlOf(server), close: (graceMs) => close(server, upgraded, graceMs) };
}

/** Node gives an upgrade no response; this one answers it like any other request, and ends the socket after. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  return response;
}

function refuseMalformed(socket: Duplex, error: NodeJS.ErrnoException, onMalformed: OnMalformed): void {
  const reason = malformedReasons[error.code ?? ''] ?? 'request.malformed';
  const { status, requestId } = onMalformed(reason, error.code ?? error.message);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: ${requestId}\r\n\r\n`,
  );
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
