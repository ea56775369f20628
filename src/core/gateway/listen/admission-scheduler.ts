import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressBlock } from '../../lib/ip-address.ts';
import { createRoundRobinQueue } from '../../lib/fair-share.ts';
import { ensure } from '../../lib/remembered.ts';

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
 * Begins few requests in a turn of the event loop while clients compete, so that none delays the others. A request
 * begins at once while its turn has room and none waits.
 *
 * The requests of an address without competitors begin as they arrive: behind an ingress or in a sidecar, a wait would
 * cost a fifth of the throughput and protect no client. Once addresses compete, each begins one request in a turn.
 *
 * An address is the peer of the socket, also if the peer is a trusted proxy: no header is validated yet.
 */
export class AdmissionScheduler {
  readonly #loop: EventLoop;
  readonly #queue = createRoundRobinQueue();
  readonly #places = new WeakMap<Duplex, Place>();
  /** The requests that may still begin in this turn. */
  #left = LONE_PER_TURN;
  #turnStartedAt = 0;
  #lastAddress = '';
  #competedAt = -Infinity;

  constructor(loop = eventLoop) {
    this.#loop = loop;
  }

  /** Calls `begin` at once, or in a later turn. In each turn the waiting addresses get equal shares. */
  take(socket: Socket, begin: () => void): void {
    const { remoteAddress: address = '' } = socket;
    const now = this.#loop.now();
    if (address !== this.#lastAddress) {
      if (this.#lastAddress !== '') {
        this.#competedAt = now;
        this.#left = Math.min(this.#left, COMPETING_PER_TURN);
      }
      this.#lastAddress = address;
    }
    if (this.#queue.isEmpty()) {
      if (now - this.#turnStartedAt > TURN_MS) this.#open(now, 1);
      if (this.#left > 0) {
        this.#left -= 1;
        begin();
        return;
      }
      this.#loop.nextTurn(this.#next);
    }
    const place = this.#placeOf(socket);
    const act = (): void => {
      if (place.waiting !== act) return;
      place.waiting = undefined;
      begin();
    };
    place.waiting = act;
    this.#queue.add(addressBlock(address), act);
  }

  /**
   * Begins the request of `socket` that waits, if one does. Required before the connection ends, so that the outcome
   * of a request does not depend on when it begins. A client gains nothing from it: it needs a connection for each.
   */
  beginWaiting(socket: Duplex): void {
    this.#places.get(socket)?.waiting?.();
  }

  #placeOf(socket: Duplex): Place {
    return ensure(this.#places, socket, (): Place => ({ waiting: undefined }));
  }

  #open(now: number, addresses: number): void {
    this.#turnStartedAt = now;
    const isLone = now - this.#competedAt > COMPETITION_MS;
    this.#left = isLone ? LONE_PER_TURN : Math.min(COMPETING_PER_TURN, addresses);
  }

  readonly #next = (): void => {
    this.#open(this.#loop.now(), this.#queue.owners());
    for (; this.#left > 0 && this.#queue.next(); this.#left -= 1);
    if (!this.#queue.isEmpty()) this.#loop.nextTurn(this.#next);
  };
}
