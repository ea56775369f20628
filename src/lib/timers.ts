/** Runs functions later. Passed in wherever a pause decides something, so that tests need not wait. */
export interface Timers {
  /** Milliseconds since any fixed moment; never set back. */
  now(): number;
  /** Runs `run` once, after a pause. @returns cancels it. */
  after(pauseMs: number, run: () => void): () => void;
}

/** The timers of this process, which do not keep it alive. */
export const processTimers: Timers = {
  now: () => performance.now(),
  after(pauseMs, run) {
    const timer = setTimeout(run, pauseMs).unref();
    return () => clearTimeout(timer);
  },
};
