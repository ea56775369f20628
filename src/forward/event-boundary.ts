/** Follows an event stream, to find out where something of our own may be written into it. */
export interface EventBoundary {
  /** Notes what was passed on. */
  passed(chunk: Buffer): void;
  /** Whether no event has begun that has not ended yet, WHATWG HTML §9.2. */
  isBetween(): boolean;
}

/** Creates the boundary of a stream of which nothing was passed on yet. */
export function createEventBoundary(): EventBoundary {
  let tail = '\n\n';
  return {
    passed(chunk) {
      tail = (tail + chunk.subarray(-3).toString('latin1')).slice(-3);
    },
    isBetween: () => /(?:\n\n|\r\r|\n\r\n)$/.test(tail),
  };
}
