import { createBackOff } from '../lib/back-off.ts';

/** Looks at a server again and again. */
export interface Lookout {
  /** Looks soon: the server says that something changed. */
  soon(): void;
  /** How long it is until the next look, in milliseconds; 0 during one. */
  untilNextMs(): number;
  close(): void;
}

/** The time between looks that succeed. */
const EVERY_MS = 5 * 60_000;
/** The shortest time between the beginnings of two looks, however often the server announces changes. */
const GAP_MS = 5_000;
/** The first pause after a look that fails; it doubles up to {@link EVERY_MS}. */
const RETRY_MS = 1_000;

/**
 * Looks at once, then every five minutes, sooner after a failure or when asked to. Never looks twice at the same time.
 *
 * @param look Ends early when the signal is aborted; rejects if the look fails.
 */
export function createLookout(look: (signal: AbortSignal) => Promise<void>): Lookout {
  const stop = new AbortController();
  const backOff = createBackOff(RETRY_MS, EVERY_MS, Math.random);
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let begunAt = -GAP_MS;
  let isLooking = false;
  let isAsked = false;
  schedule(0);

  function schedule(pauseMs: number): void {
    clearTimeout(timer);
    dueAt = performance.now() + pauseMs;
    timer = setTimeout(() => void run(), pauseMs).unref();
  }

  async function run(): Promise<void> {
    isLooking = true;
    isAsked = false;
    begunAt = performance.now();
    const succeeded = await look(stop.signal).then(
      () => true,
      () => false,
    );
    isLooking = false;
    if (stop.signal.aborted) return;
    if (succeeded) backOff.reset();
    schedule(succeeded ? EVERY_MS : backOff.next());
    if (isAsked) hasten();
  }

  function hasten(): void {
    const pauseMs = Math.max(0, begunAt + GAP_MS - performance.now());
    if (performance.now() + pauseMs < dueAt) schedule(pauseMs);
  }

  return {
    soon() {
      if (isLooking) isAsked = true;
      else hasten();
    },
    untilNextMs: () => (isLooking ? 0 : Math.max(0, dueAt - performance.now())),
    close() {
      clearTimeout(timer);
      stop.abort(new Error('the gateway no longer needs it'));
    },
  };
}
