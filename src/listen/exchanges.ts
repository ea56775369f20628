import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const LINGER_MS = 1_000;

/** The newest request of a connection. `queued`: behind one that was not answered yet (pipelining). */
interface Exchange {
  readonly response: ServerResponse;
  readonly queued: boolean;
}

/** What was asked and answered on each connection, as far as the next answer depends on it. */
export interface Exchanges {
  begun(request: IncomingMessage, response: ServerResponse): void;
  /** Whether an answer is still to come. Answers go out in order, so that with the newest all are out. */
  isDue(socket: Duplex): boolean;
  /**
   * Whether an answer to malformed bytes would be taken for what it is. Behind a whole request that waits for its own
   * answer it would be taken for that one, and after the beginning of an answer for a part of it.
   */
  canBeAnswered(socket: Duplex): boolean;
}

/** Creates the memory of a listener; it forgets a connection with its socket. */
export function createExchanges(): Exchanges {
  const newest = new WeakMap<Duplex, Exchange>();
  const due = (exchange: Exchange | undefined): exchange is Exchange =>
    exchange !== undefined && !exchange.response.writableFinished;
  return {
    begun(request, response) {
      newest.set(request.socket, { response, queued: due(newest.get(request.socket)) });
    },
    isDue: (socket) => due(newest.get(socket)),
    canBeAnswered(socket) {
      const exchange = newest.get(socket);
      if (!due(exchange)) return true;
      const { response, queued } = exchange;
      return !queued && !response.headersSent && !response.req.complete;
    },
  };
}

/** Node gives an upgrade no response; this one answers it like any other request, and ends the socket after. */
export function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
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
