import { addressBlock } from '../lib/address-block.ts';

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
  const waiting = new Map<string, (() => void)[]>();
  let left = perTurn;
  let since = 0;

  function next(): void {
    left = perTurn;
    since = performance.now();
    for (const [block, begins] of waiting) {
      if (left === 0) break;
      left -= 1;
      waiting.delete(block);
      begins.shift()?.();
      // At the end of the row, which this loop comes to in turn.
      if (begins.length > 0) waiting.set(block, begins);
    }
    if (waiting.size > 0) setImmediate(next);
  }

  return {
    begin() {
      if (waiting.size > 0) return false;
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
      if (waiting.size === 0) setImmediate(next);
      const block = addressBlock(address);
      const begins = waiting.get(block);
      if (begins === undefined) waiting.set(block, [begin]);
      else begins.push(begin);
    },
  };
}
