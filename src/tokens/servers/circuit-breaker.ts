import { createBackOff, type Random } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';

/** Consecutive failures that open a circuit. */
const FAILURES = 5;
/** The first and the longest wait of an open circuit before its next trial; each failed trial doubles the wait. */
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;
/** The longest pause that a server can request. A mistake could stop all calls for a day, or overflow a timer. */
export const LONGEST_REQUESTED_MS = 60_000;

/**
 * The state of a circuit. `closed`: calls pass. `open`: calls fail until the wait is over. `half_open`: the next call
 * is a trial that decides.
 */
type CircuitState = 'closed' | 'open' | 'half_open';

/** An admitted call. The caller MUST report its outcome once, or a trial would never end. */
export interface AdmittedCall {
  succeeded(): void;
  /** @param requestedMs The pause that the server requested, if any. */
  failed(requestedMs?: number): void;
}

/** Stops calls to a failing server, so that they fail at once and the server can recover. */
export interface CircuitBreaker {
  /** An admitted call, or the milliseconds until a call may be admitted. */
  admit(): AdmittedCall | number;
  /** Reports that the server answers again: calls pass, and the first failure opens the circuit again. */
  recovered(): void;
  state(): CircuitState;
  /** Milliseconds until a call may be admitted; 0: now. */
  waitMs(): number;
}

/**
 * Creates a closed circuit. It opens after five consecutive failures, for one second at first. Each failed trial
 * doubles the wait, up to 30 s; a pause that the server requests counts up to 60 s. `random` takes up to half off
 * each wait, so that replicas do not return at the same time.
 */
export function createCircuitBreaker(clock: Clock, random: Random): CircuitBreaker {
  let failures = 0;
  const backOff = createBackOff(FIRST_WAIT_MS, LAST_WAIT_MS, random);
  let openMs = 0;
  let openedAt = 0;
  let isOpen = false;
  let trial: AdmittedCall | undefined;

  /** A clock that is set back must not keep the circuit open. */
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
      // Any success counts, also of a call from before the circuit opened: the server answers.
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
