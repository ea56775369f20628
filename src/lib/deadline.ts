import type { Clock } from './clock.ts';

/** setTimeout takes 32 bits of milliseconds; more fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Calls `act` once when `clock` reaches `at` (ms since the epoch), however far that is; `Infinity` is never.
 *
 * @returns a function that calls it off.
 */
export function atDeadline(at: number, act: () => void, clock: Clock): () => void {
  if (at === Infinity) return () => {};
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const left = at - clock();
    timer = setTimeout(left > LONGEST_MS ? arm : act, Math.min(Math.max(left, 0), LONGEST_MS)).unref();
  };
  arm();
  return () => clearTimeout(timer);
}
