import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http, rememberWhileOpen } from '../../lib/http/node-http.ts';

const LINGER_MS = 1_000;

interface Connection {
  /** The response to its newest request. */
  newest: ServerResponse;
  /** The response that must be finished before the newest request is served; undefined for none. */
  earlier: ServerResponse | undefined;
  /** The number of requests that wait to be served. */
  waiting: number;
  /** Whether malformed bytes were received: a request whose body they end is not served. */
  isRefused: boolean;
}

/** The most requests that may wait on one connection. */
const MAX_WAITING = 64;

/** The requests and answers of every open connection of a listener, so that each answer goes out in its turn. */
export class Connections {
  readonly #connections = new WeakMap<Duplex, Connection>();

  /** Notes a request. Returns the response that must be finished before this request is served; undefined for none. */
  begun({ socket }: IncomingMessage, response: ServerResponse): ServerResponse | undefined {
    const connection = this.#connections.get(socket);
    if (connection === undefined) {
      rememberWhileOpen(this.#connections, socket, {
        newest: response,
        earlier: undefined,
        waiting: 0,
        isRefused: false,
      });
      return undefined;
    }
    const earlier = connection.newest;
    connection.newest = response;
    connection.earlier = earlier.writableFinished ? undefined : earlier;
    return connection.earlier;
  }

  /**
   * Serves the newest request after `earlier` has finished. A connection has one request in flight, and none after an
   * answer that closes the connection, RFC 9112 §9.6.
   *
   * @returns false if too many requests wait on the connection.
   */
  serveAfter(earlier: ServerResponse, socket: Socket, serve: () => void): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.waiting === MAX_WAITING) return false;
    connection.waiting += 1;
    const { newest } = connection;
    earlier.once('finish', () => {
      connection.waiting -= 1;
      if (socket.writable && (newest.req.complete || !connection.isRefused)) serve();
    });
    return true;
  }

  /** Whether an answer is still due. Answers go out in order, so none is due once the newest has finished. */
  isDue(socket: Duplex): boolean {
    return this.#connections.get(socket)?.newest.writableFinished === false;
  }

  /**
   * Calls `act` once when an answer to malformed bytes is due: after the answers to all whole requests before them, of
   * which a client would otherwise take it for one. `mayAnswer` is false if the client has left, or if the answer to
   * the very request that the bytes belong to has begun. An answer that has begun gets a second to finish.
   */
  refuse(socket: Duplex, act: (mayAnswer: boolean) => void): void {
    const connection = this.#connections.get(socket);
    if (connection?.isRefused === true) return;
    if (connection !== undefined) connection.isRefused = true;
    const due = connection && this.#wholeDue(connection);
    if (due === undefined) {
      act(connection === undefined || !this.isDue(socket) || !connection.newest.headersSent);
      return;
    }
    const settle = (): void => {
      clearTimeout(timer);
      due.off('finish', settle);
      socket.off('close', settle);
      act(socket.writable && due.writableFinished);
    };
    const timer = due.headersSent ? setTimeout(settle, LINGER_MS) : undefined;
    due.once('finish', settle);
    // A response that waits for its turn has no `close` event.
    socket.once('close', settle);
  }

  /** The last response that is due to a whole request. */
  #wholeDue({ newest, earlier }: Connection): ServerResponse | undefined {
    if (newest.req.complete) return newest.writableFinished ? undefined : newest;
    return earlier?.writableFinished === false ? earlier : undefined;
  }

  /**
   * The request whose body the gateway is reading. Undefined for a request that waits, for one whose upstream reads
   * slowly, and for one whose answer has begun: an upstream may read and answer at once.
   */
  receiving(socket: Duplex): IncomingMessage | undefined {
    const response = this.#connections.get(socket)?.newest;
    if (response === undefined || response.headersSent) return undefined;
    const { req: request } = response;
    return request.complete || request.readableFlowing !== true ? undefined : request;
  }
}

/** Creates the response to an upgrade, for which Node has none. The socket ends after it. */
export function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => endSoon(socket));
  return response;
}

/** Ends a socket, and destroys it after a second: the peer can read what was written, but cannot keep the socket. */
export function endSoon(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The least pace of a request body: this number of bytes in each window. */
export interface Pace {
  readonly windowMs: number;
  readonly bytes: number;
}

/** Slower than any usable network. A faster upload may last as long as it needs. */
export const leastPace: Pace = { windowMs: 30_000, bytes: 4_096 };

interface SlowBodies {
  readonly sockets: Iterable<Socket>;
  readonly connections: Connections;
  readonly onSlow: (socket: Socket) => void;
  readonly pace?: Pace;
}

/**
 * Calls `onSlow` for each connection whose request body comes more slowly than `pace`, so that a client cannot keep a
 * connection by sending a byte at a time. It replaces Node's `requestTimeout`, which also ends a long upload that is
 * fast. It costs nothing for a single request: it looks at all connections once in each window.
 */
export function watchSlowBodies(server: Server, { sockets, connections, onSlow, pace = leastPace }: SlowBodies): void {
  /** The requests that were being read in the last window, and the bytes read by then. */
  let before = new Map<IncomingMessage, number>();
  const look = (): void => {
    const now = new Map<IncomingMessage, number>();
    for (const socket of sockets) {
      const request = connections.receiving(socket);
      if (request === undefined) continue;
      const { bytesRead } = socket;
      if (bytesRead - (before.get(request) ?? -Infinity) < pace.bytes) onSlow(socket);
      else now.set(request, bytesRead);
    }
    before = now;
  };
  const timer = setInterval(look, pace.windowMs).unref();
  server.once('close', () => clearInterval(timer));
}
