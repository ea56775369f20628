import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Exchanges } from './exchanges.ts';

/** What a client must bring of a body that is wanted: so many bytes in each window. */
export interface Pace {
  readonly windowMs: number;
  readonly bytes: number;
}

/** Slower than any network that still is one; an upload may last as long as it likes above it. */
export const leastPace: Pace = { windowMs: 30_000, bytes: 4_096 };

/**
 * Calls `onSlow` for each connection whose request body comes more slowly than `pace`, so that nobody keeps connections
 * by dribbling. In place of Node's `requestTimeout`, which ends a long upload however fast it is.
 *
 * Costs nothing per request: all connections are looked at once in each window.
 */
export function watchSlowBodies(
  server: Server,
  sockets: Iterable<Socket>,
  exchanges: Pick<Exchanges, 'receiving'>,
  onSlow: (socket: Socket) => void,
  pace: Pace = leastPace,
): void {
  /** What was under way at the last look, and how much had been read by then. */
  let before = new Map<IncomingMessage, number>();
  const look = (): void => {
    const now = new Map<IncomingMessage, number>();
    for (const socket of sockets) {
      const request = exchanges.receiving(socket);
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
