import { addressBlock } from '../lib/ip-address.ts';
import { createRoundRobinQueue } from '../lib/round-robin-queue.ts';

/** Lets few requests begin in one turn of the event loop, so that a client with many makes the others wait for few. */
export interface AdmissionScheduler {
  /** Calls `begin`: now, or in one of the next turns, in which no address gets more than the others that wait. */
  take(address: string, begin: () => void): void;
}

/** A request takes some 0.1 ms of a core, and up to a quarter less where four begin in one turn. */
const PER_TURN = 4;
const TURN_MS = 1;
/** Who came so long after another's request is alone. */
const COMPANY_MS = 100;

/**
 * Creates the turns of a listener. In a turn each address begins one request, and who is alone begins as many as there may
 * be. One at a time, or a few, come and go without any of this.
 */
export function createAdmissionScheduler(perTurn = PER_TURN): AdmissionScheduler {
  const rounds = createRoundRobinQueue();
  /** How many may still begin in this turn. */
  let left = perTurn;
  let since = 0;
  let last = '';
  let metAt = -Infinity;

  function open(now: number, addresses: number): void {
    since = now;
    left = now - metAt > COMPANY_MS ? perTurn : Math.min(perTurn, addresses);
  }

  function next(): void {
    open(performance.now(), rounds.owners());
    for (; left > 0 && rounds.next(); left -= 1);
    if (!rounds.isEmpty()) setImmediate(next);
  }

  return {
    take(address, begin) {
      const now = performance.now();
      if (address !== last) {
        if (last !== '') metAt = now;
        last = address;
      }
      if (rounds.isEmpty()) {
        if (now - since > TURN_MS) open(now, 1);
        if (left > 0) {
          left -= 1;
          begin();
          return;
        }
        setImmediate(next);
      }
      rounds.add(addressBlock(address), begin);
    },
  };
}
