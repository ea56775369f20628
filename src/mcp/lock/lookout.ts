import { createBackOff, type Random } from '../../lib/back-off.ts';
import type { Timers } from '../../lib/timers.ts';

/** Looks at a server again and again. */
export interface Lookout {
  readonly start: () => void;
  /** Looks soon: the server announced a change, or may have returned to what was approved. */
  readonly soon: () => void;
  /** How long it is until the next look, in milliseconds; 0 before the first and during each. */
  readonly untilNextMs: () => number;
  readonly close: () => void;
}

/** What decides when a {@link Lookout} looks. */
export interface LookoutParts {
  readonly timers: Timers;
  readonly random: Random;
}

/** The time between looks that succeed. */
const EVERY_MS = 5 * 60_000;
/** The shortest time between the beginnings of two looks, however often {@link Lookout.soon} is called. */
const GAP_MS = 5_000;
/** The first pause after a look that fails; it doubles up to {@link EVERY_MS}. */
const RETRY_MS = 1_000;

/**
 * Looks at its start, then every five minutes, sooner after a failure or when asked to. Never looks twice at the same
 * time.
 *
 * @param look Ends early when the signal is aborted; rejects if the look fails.
 */
export function createLookout(look: (signal: AbortSignal) => Promise<void>, { timers, random }: LookoutParts): Lookout {
  const stop = new AbortController();
  const backOff = createBackOff(RETRY_MS, EVERY_MS, random);
  let begunAt = timers.now();
  /** The next look; undefined before the start and during a look. */
  let next: { readonly dueAt: number; readonly cancel: () => void } | undefined;
  let isAsked = false;

  async function run(): Promise<void> {
    next = undefined;
    begunAt = timers.now();
    const pauseMs = await look(stop.signal).then(succeeded, backOff.next);
    if (stop.signal.aborted) return;
    schedule(isAsked ? Math.min(pauseMs, untilAllowedMs()) : pauseMs);
    isAsked = false;
  }

  function succeeded(): number {
    backOff.reset();
    return EVERY_MS;
  }

  function schedule(pauseMs: number): void {
    next?.cancel();
    next = { dueAt: timers.now() + pauseMs, cancel: timers.after(pauseMs, () => void run()) };
  }

  function untilAllowedMs(): number {
    return Math.max(0, begunAt + GAP_MS - timers.now());
  }

  function untilNextMs(): number {
    return next === undefined ? 0 : Math.max(0, next.dueAt - timers.now());
  }

  return {
    start: () => schedule(0),
    soon() {
      if (next === undefined) isAsked = true;
      else schedule(Math.min(untilNextMs(), untilAllowedMs()));
    },
    untilNextMs,
    close() {
      next?.cancel();
      stop.abort(new Error('the gateway no longer needs it'));
    },
  };
}
