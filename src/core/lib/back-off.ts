/** Returns a random number from 0 to below 1; passed in, so that tests can set it. */
export type Random = () => number;

/** The growing pauses between attempts that fail. */
export interface BackOff {
  /** How long to pause now, in milliseconds; the next pause is twice as long. */
  readonly next: () => number;
  /** An attempt succeeded: the next pause is the first again. */
  readonly reset: () => void;
}

/**
 * Creates a back-off that doubles from `firstMs` up to `longestMs`. `random` shortens each pause by up to half, so that
 * replicas do not retry at the same moment; by default, pauses are not shortened.
 */
export function createBackOff(firstMs: number, longestMs: number, random: Random = () => 0): BackOff {
  let pauseMs = firstMs;
  return {
    next() {
      const now = pauseMs * (1 - random() / 2);
      pauseMs = Math.min(pauseMs * 2, longestMs);
      return now;
    },
    reset() {
      pauseMs = firstMs;
    },
  };
}
