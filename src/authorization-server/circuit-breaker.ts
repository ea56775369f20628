import { createBackOff, type Random } from '../lib/back-off.ts';
import type { Clock } from '../lib/clock.ts';

/** So many failures without a success between them open a circuit. */
const FAILURES = 5;
/** How long an open circuit waits for its next trial: at first, and at last; each failed trial doubles it. */
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;
/** The longest wait that a server can ask for: by mistake it would shut itself off for a day, or overflow a timer. */
export const LONGEST_REQUESTED_MS = 60_000;

/**
 * How a circuit is. `closed`: calls go. `open`: none goes before its time is up. `half_open`: the next call goes alone,
 * and decides.
 */
type CircuitState = 'closed' | 'open' | 'half_open';

/** A call that may go. Its end MUST be told once, or a trial would never be over. */
export interface AdmittedCall {
  succeeded(): void;
  /** @param requestedMs for how long the server wants to be left alone, where it said so. */
  failed(requestedMs?: number): void;
}

/** Keeps calls from a server that fails, so that they fail at once and it can recover. */
export interface CircuitBreaker {
  /** A call that may go, or for how many milliseconds none is worth trying. */
  admit(): AdmittedCall | number;
  /** The server is known to be back: calls go again, and the first failure opens the circuit as before. */
  recovered(): void;
  state(): CircuitState;
  /** Until a call may go again; 0 where one may go now. */
  waitMs(): number;
}

/**
 * Creates a closed circuit. It opens after five failures in a row, for a second at first, then for twice as long after
 * each trial that failed, up to 30 s, or for as long as the server asked, up to 60 s. `random` takes up to half off each
 * wait, so that replicas do not come back all at once.
 */
export function createCircuitBreaker(clock: Clock, random: Random): CircuitBreaker {
  let failures = 0;
  const backOff = createBackOff(FIRST_WAIT_MS, LAST_WAIT_MS, random);
  let openMs = 0;
  let openedAt = 0;
  let isOpen = false;
  let trial: AdmittedCall | undefined;

  /** A clock that was set back must not keep the circuit open for ever. */
  function waitMs(): number {
    const passed = clock() - openedAt;
    return !isOpen || passed < 0 ? 0 : Math.max(openMs - passed, 0);
  }

  function open(requestedMs: number): void {
    isOpen = true;
    openedAt = clock();
    openMs = Math.max(backOff.next(), Math.min(requestedMs, LONGEST_REQUESTED_MS));
  }

  function newCall(): AdmittedCall {
    const call: AdmittedCall = {
      // Whichever call it is, also one from before: the server answers.
      succeeded() {
        isOpen = false;
        failures = 0;
        backOff.reset();
        trial = undefined;
      },
      failed(requestedMs = 0) {
        if (isOpen && trial !== call) return;
        trial = undefined;
        failures += 1;
        if (failures >= FAILURES) open(requestedMs);
      },
    };
    return call;
  }

  return {
    admit() {
      if (!isOpen) return newCall();
      const leftMs = waitMs();
      if (leftMs > 0) return leftMs;
      if (trial !== undefined) return FIRST_WAIT_MS;
      trial = newCall();
      return trial;
    },
    recovered() {
      if (!isOpen) return;
      isOpen = false;
      failures = FAILURES - 1;
      trial = undefined;
    },
    state() {
      if (!isOpen) return 'closed';
      return waitMs() > 0 ? 'open' : 'half_open';
    },
    waitMs,
  };
}
