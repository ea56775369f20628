import { addressBlock } from '../lib/address-block.ts';
import { createRounds } from '../lib/rounds.ts';

/** Lets few requests begin in one turn of the event loop, so that a client with many makes the others wait for few. */
export interface Turns {
  /** Whether one may begin now; if not, it has to {@link wait}. */
  begin(): boolean;
  /** Calls `begin` in one of the next turns, in which each address that has any waiting gets as many as the others. */
  wait(address: string, begin: () => void): void;
}

/** A request takes some 0.1 ms of a core: who comes alone meets half a millisecond of another's, not all that he has sent. */
const PER_TURN = 4;
const TURN_MS = 1;

/** Creates the turns of a listener. One at a time, or a few, come and go without any of this. */
export function createTurns(perTurn = PER_TURN): Turns {
  const rounds = createRounds();
  let left = perTurn;
  let since = 0;

  function next(): void {
    since = performance.now();
    for (left = perTurn; left > 0 && rounds.next(); left -= 1);
    if (!rounds.isEmpty()) setImmediate(next);
  }

  return {
    begin() {
      if (!rounds.isEmpty()) return false;
      const now = performance.now();
      if (now - since > TURN_MS) {
        since = now;
        left = perTurn;
      }
      if (left === 0) return false;
      left -= 1;
      return true;
    },
    wait(address, begin) {
      if (rounds.isEmpty()) setImmediate(next);
      rounds.add(addressBlock(address), begin);
    },
  };
}
