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

/** WHATWG HTML §9.2.6: a line that begins with a colon is ignored. */
const comment = Buffer.from(': keepalive\n\n');

/** Writes comments into an event stream that is quiet. */
export interface Keepalive {
  /** Notes that something was passed on. */
  passed(): void;
  stop(): void;
}

/**
 * Creates the comments of one stream: after `quietMs` without a byte, and then as often again.
 */
export function createKeepalive(quietMs: number, boundary: EventBoundary, write: (chunk: Buffer) => void): Keepalive {
  const timer = setInterval(() => {
    if (boundary.isBetween()) write(comment);
  }, quietMs).unref();
  return {
    passed: () => void timer.refresh(),
    stop: () => clearInterval(timer),
  };
}
