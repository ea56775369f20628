import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressBlock } from '../../lib/ip-address.ts';
import { createRoundRobinQueue } from '../../lib/fair-share.ts';

/** Begins few requests in a turn of the event loop while clients compete, so that none delays the others. */
export interface AdmissionScheduler {
  /** Calls `begin` at once, or in a later turn. In each turn the waiting addresses get equal shares. */
  take(socket: Socket, begin: () => void): void;
  /**
   * Begins the request of `socket` that waits, if one does. Required before the connection ends, so that the outcome
   * of a request does not depend on when it begins. A client gains nothing from it: it needs a connection for each.
   */
  beginWaiting(socket: Duplex): void;
}

/**
 * The request of a connection that waits. In a Map that each request enters and leaves, requests would stay in memory
 * until the next full collection: V8 copies the table of such a Map again and again, and each old table keeps the next
 * one alive. Small collections then took 40 ms in place of 2.
 */
interface Place {
  waiting: (() => void) | undefined;
}

/** The event loop and its clock. */
export interface EventLoop {
  /** The time in milliseconds, from any origin. */
  now(): number;
  /** Calls `act` in the next turn. */
  nextTurn(act: () => void): void;
}

const eventLoop: EventLoop = { now: () => performance.now(), nextTurn: setImmediate };

/** The requests of a lone address that begin in one turn. The first request of a second address waits for no more. */
const LONE_PER_TURN = 64;
/** A request takes about 0.1 ms of a core, and up to a quarter less if four begin in one turn. */
const COMPETING_PER_TURN = 4;
const TURN_MS = 1;
/** Addresses compete if their requests arrive within this time of each other. */
const COMPETITION_MS = 1_000;

/**
 * Creates the scheduler of a listener. A request begins at once while its turn has room and none waits.
 *
 * The requests of an address without competitors begin as they arrive: behind an ingress or in a sidecar, a wait would
 * cost a fifth of the throughput and protect no client. Once addresses compete, each begins one request in a turn.
 *
 * An address is the peer of the socket, also if the peer is a trusted proxy: no header is validated yet.
 */
export function createAdmissionScheduler(loop = eventLoop): AdmissionScheduler {
  const queue = createRoundRobinQueue();
  const places = new WeakMap<Duplex, Place>();
  /** The requests that may still begin in this turn. */
  let left = LONE_PER_TURN;
  let turnStartedAt = 0;
  let lastAddress = '';
  let competedAt = -Infinity;

  function placeOf(socket: Duplex): Place {
    const known = places.get(socket);
    if (known !== undefined) return known;
    const place: Place = { waiting: undefined };
    places.set(socket, place);
    return place;
  }

  function open(now: number, addresses: number): void {
    turnStartedAt = now;
    left = now - competedAt > COMPETITION_MS ? LONE_PER_TURN : Math.min(COMPETING_PER_TURN, addresses);
  }

  function next(): void {
    open(loop.now(), queue.owners());
    for (; left > 0 && queue.next(); left -= 1);
    if (!queue.isEmpty()) loop.nextTurn(next);
  }

  return {
    take(socket, begin) {
      const { remoteAddress: address = '' } = socket;
      const now = loop.now();
      if (address !== lastAddress) {
        if (lastAddress !== '') {
          competedAt = now;
          left = Math.min(left, COMPETING_PER_TURN);
        }
        lastAddress = address;
      }
      if (queue.isEmpty()) {
        if (now - turnStartedAt > TURN_MS) open(now, 1);
        if (left > 0) {
          left -= 1;
          begin();
          return;
        }
        loop.nextTurn(next);
      }
      const place = placeOf(socket);
      const act = (): void => {
        if (place.waiting !== act) return;
        place.waiting = undefined;
        begin();
      };
      place.waiting = act;
      queue.add(addressBlock(address), act);
    },
    beginWaiting: (socket) => places.get(socket)?.waiting?.(),
  };
}
