import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http } from '../http/node-http.ts';

const LINGER_MS = 1_000;

/** A connection, by its newest request. */
interface Connection {
  newest: ServerResponse;
  /** Whether the newest came behind one that was not answered yet (pipelining). */
  queued: boolean;
  /** How many wait to be served. */
  waiting: number;
}

/** Requests that wait on one connection; a client that sends more without an answer wants something else. */
const MAX_WAITING = 64;

/** What was asked and answered on each connection, as far as the next answer depends on it. */
export interface Connections {
  /** Returns the answer that must be out before this one is served; undefined for none. */
  begun(request: IncomingMessage, response: ServerResponse): ServerResponse | undefined;
  /**
   * Serves a request behind `earlier`: one at a time, so that a connection takes no more of an upstream than one, and none
   * behind an answer that closes the connection, RFC 9112 §9.6.
   *
   * @returns false where too many wait already.
   */
  serveAfter(earlier: ServerResponse, socket: Socket, serve: () => void): boolean;
  /** Whether an answer is still to come. Answers go out in order, so that with the newest all are out. */
  isDue(socket: Duplex): boolean;
  /**
   * Whether an answer to malformed bytes would be taken for what it is. Behind a whole request that waits for its own
   * answer it would be taken for that one, and after the beginning of an answer for a part of it.
   */
  canBeAnswered(socket: Duplex): boolean;
  /**
   * The request whose body somebody reads and of which more is to come. Not one that waits for its turn, or for an
   * upstream that reads slowly, and not one that is answered already: the upstream wants both at once.
   */
  receiving(socket: Duplex): IncomingMessage | undefined;
}

/** Creates the memory of a listener; it forgets a connection with its socket. */
export function createConnections(): Connections {
  const connections = new WeakMap<Duplex, Connection>();
  const isDue = (socket: Duplex): boolean => connections.get(socket)?.newest.writableFinished === false;
  return {
    begun({ socket }, response) {
      const connection = connections.get(socket);
      if (connection === undefined) {
        connections.set(socket, { newest: response, queued: false, waiting: 0 });
        return undefined;
      }
      const earlier = connection.newest;
      connection.newest = response;
      connection.queued = !earlier.writableFinished;
      return connection.queued ? earlier : undefined;
    },
    serveAfter(earlier, socket, serve) {
      const connection = connections.get(socket);
      if (connection === undefined || connection.waiting === MAX_WAITING) return false;
      connection.waiting += 1;
      earlier.once('finish', () => {
        connection.waiting -= 1;
        if (socket.writable) serve();
      });
      return true;
    },
    isDue,
    canBeAnswered(socket) {
      const connection = connections.get(socket);
      if (connection === undefined || !isDue(socket)) return true;
      const { newest, queued } = connection;
      return !queued && !newest.headersSent && !newest.req.complete;
    },
    receiving(socket) {
      const response = connections.get(socket)?.newest;
      if (response === undefined || response.headersSent) return undefined;
      const { req: request } = response;
      return request.complete || request.readableFlowing !== true ? undefined : request;
    },
  };
}

/** Node gives an upgrade no response; this one answers it like any other request, and ends the socket after. */
export function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => endSoon(socket));
  return response;
}

/** Lets the peer read what was written; one that never hangs up must not keep the socket for ever. */
export function endSoon(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** What a client must bring of a body that is wanted: so many bytes in each window. */
export interface Pace {
  readonly windowMs: number;
  readonly bytes: number;
}

/** Slower than any network that still is one; an upload may last as long as it likes above it. */
export const leastPace: Pace = { windowMs: 30_000, bytes: 4_096 };

/** What is watched, and what happens to a slow connection. */
interface SlowBodies {
  readonly sockets: Iterable<Socket>;
  readonly connections: Pick<Connections, 'receiving'>;
  readonly onSlow: (socket: Socket) => void;
  readonly pace?: Pace;
}

/**
 * Calls `onSlow` for each connection whose request body comes more slowly than `pace`, so that nobody keeps connections
 * by dribbling. In place of Node's `requestTimeout`, which ends a long upload however fast it is.
 *
 * Costs nothing per request: all connections are looked at once in each window.
 */
export function watchSlowBodies(server: Server, { sockets, connections, onSlow, pace = leastPace }: SlowBodies): void {
  /** What was under way at the last look, and how much had been read by then. */
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
