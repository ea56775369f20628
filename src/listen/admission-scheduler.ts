import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressBlock } from '../lib/ip-address.ts';
import { createRoundRobinQueue } from '../lib/round-robin-queue.ts';

/** Serves one request. `head`: the first bytes after a WebSocket handshake; undefined for all other requests. */
export type OnRequest = (request: IncomingMessage, response: ServerResponse, head?: Buffer) => void;

/** The event loop and its clock. */
export interface EventLoop {
  /** The time in milliseconds, from any origin. */
  now(): number;
  /** Calls `act` once the requests that the kernel has delivered in this turn have arrived. */
  afterArrivals(act: () => void): void;
}

/**
 * How long a turn begins requests if more wait. Most of the work on a request comes later, in the same turn and in the
 * next ones, so that such a turn takes about half a millisecond. Longer turns delayed a light client more, measured.
 */
const BEGIN_MS = 0.1;
/** The requests of a lone client that begin at once, until one waits for the end of a turn. */
const BURST = 64;
/** A client is lone once no other client has sent a request for this time. */
const LONE_MS = 1_000;

const eventLoop: EventLoop = { now: () => performance.now(), afterArrivals: setImmediate };

/**
 * Creates the scheduler of a listener, which calls `onRequest` at once or at the end of a turn of the event loop, so
 * that a client with one request does not wait for all requests of another client.
 *
 * A lone client competes with no other, so its requests begin as they arrive. Behind an ingress or in a sidecar this is
 * every request, and it costs a comparison. Once requests of different addresses compete, each waits until all requests
 * of the turn have arrived. Then the addresses take turns, whatever the order of arrival.
 *
 * The first request of a second client waits for the requests of the lone client that began before it in its turn.
 * {@link BURST} bounds them, also for a client with thousands of connections.
 *
 * A client is the peer of the socket, also if the peer is a trusted proxy: a header that names the client is not yet
 * validated here, and a proxy can limit its own clients.
 */
export function createAdmissionScheduler(onRequest: OnRequest, loop = eventLoop): OnRequest {
  const queue = createRoundRobinQueue();
  /** The address of the lone client; undefined while clients compete. */
  let lone: string | undefined;
  /** The requests that the lone client may still begin at once. While it is not 0, none waits. */
  let burst = 0;
  /** The address of the newest request that did not begin at once. */
  let newest: string | undefined;
  let competed = false;
  let competedAt = 0;

  function endTurn(): void {
    const startedAt = loop.now();
    do queue.next();
    while (!queue.isEmpty() && loop.now() - startedAt < BEGIN_MS);
    if (!queue.isEmpty()) {
      loop.afterArrivals(endTurn);
      return;
    }
    if (competed) competedAt = startedAt;
    competed = false;
    if (startedAt - competedAt < LONE_MS) return;
    lone = newest;
    burst = BURST;
  }

  return (request, response, head) => {
    const address = request.socket.remoteAddress ?? '';
    if (address === lone && burst > 0) {
      burst -= 1;
      onRequest(request, response, head);
      return;
    }
    if (address !== newest) {
      newest = address;
      competed = true;
      lone = undefined;
    }
    if (queue.isEmpty()) loop.afterArrivals(endTurn);
    queue.add(addressBlock(address), () => onRequest(request, response, head));
  };
}
