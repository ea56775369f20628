/** Follows an event stream, to know where the gateway may write into it. */
export interface EventBoundary {
  /** Notes a chunk that was passed on. */
  passed(chunk: Buffer): void;
  /** Whether the stream is between two events, WHATWG HTML §9.2. */
  isBetween(): boolean;
}

/** Creates the boundary of a stream at its start. */
export function createEventBoundary(): EventBoundary {
  let tail = '\n\n';
  return {
    passed(chunk) {
      tail = (tail + chunk.subarray(-3).toString('latin1')).slice(-3);
    },
    isBetween: () => /(?:\n\n|\r\r|\n\r\n)$/.test(tail),
  };
}

/** WHATWG HTML §9.2.6: clients ignore a line that begins with a colon. */
const comment = Buffer.from(': keepalive\n\n');

/** Writes comments into a quiet event stream. */
export interface Keepalive {
  /** Notes that a chunk was passed on. */
  passed(): void;
  stop(): void;
}

/** Creates the keepalive of one stream: a comment after each `quietMs` without a byte. */
export function createKeepalive(quietMs: number, boundary: EventBoundary, write: (chunk: Buffer) => void): Keepalive {
  const timer = setInterval(() => {
    if (boundary.isBetween()) write(comment);
  }, quietMs).unref();
  return {
    passed: () => void timer.refresh(),
    stop: () => clearInterval(timer),
  };
}
