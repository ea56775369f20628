import type { Timers } from '../../src/core/lib/clock.ts';

/** Timers whose time moves only when the test says so. */
export interface ManualTimers extends Timers {
  /** Moves the time on and runs what is due, in order, each with all that follows from it without a timer. */
  pass(ms: number): Promise<void>;
}

/** Creates timers at an odd time. */
export function createManualTimers(): ManualTimers {
  let now = 12_345;
  const waiting = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    after(pauseMs, run) {
      const timer = { at: now + pauseMs, run };
      waiting.add(timer);
      return () => void waiting.delete(timer);
    },
    async pass(ms) {
      const end = now + ms;
      for (;;) {
        await new Promise(setImmediate);
        const [next] = [...waiting].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at);
        if (next === undefined) break;
        waiting.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
    },
  };
}
