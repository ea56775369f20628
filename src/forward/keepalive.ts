import type { EventBoundary } from './event-boundary.ts';

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
