/** Milliseconds since the Unix epoch. Passed in wherever time decides something, so that tests can set it. */
export type Clock = () => number;

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

/** The longest timer, in milliseconds: setTimeout fires a longer one at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Calls `act` once when `clock` reaches `at` (ms since the epoch), any time away; never for `Infinity`. */
export class Deadline {
  readonly #at: number;
  readonly #act: () => void;
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;

  constructor(at: number, act: () => void, clock: Clock) {
    this.#at = at;
    this.#act = act;
    this.#clock = clock;
    if (at !== Infinity) this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    const left = this.#at - this.#clock();
    this.#timer = setTimeout(Deadline.#reached, Math.min(Math.max(left, 0), LONGEST_MS), this, left).unref();
  }

  static #reached(this: void, deadline: Deadline, left: number): void {
    if (left > LONGEST_MS) deadline.#arm();
    else deadline.#act();
  }
}

/** The result did not come in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * The outcome of `work`, or a rejection after `ms`. If this process itself stood still meanwhile, the other side may
 * have answered in time: it gets `ms` once more.
 */
export function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const begun = performance.now();
  // An answer that was read meanwhile settles `work` first.
  const fail = (): void => void setImmediate(() => reject(new TimeoutError(`no answer within ${ms} ms`)));
  let timer = setTimeout(() => {
    const stoodStill = performance.now() - begun > 1.5 * ms;
    if (stoodStill) timer = setTimeout(fail, ms);
    else fail();
  }, ms);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}
