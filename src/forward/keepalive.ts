/** WHATWG HTML §9.2.6: a line that begins with a colon is ignored. */
const comment = Buffer.from(': keepalive\n\n');

/** Writes comments into an event stream that is quiet. */
export interface Keepalive {
  /** Notes what was passed on, so that no comment lands within an event. */
  passed(chunk: Buffer): void;
  stop(): void;
}

/** Creates the comments of one stream: after `quietMs` without a byte, and then as often again. */
export function createKeepalive(quietMs: number, write: (chunk: Buffer) => void): Keepalive {
  let tail = '\n\n';
  const timer = setInterval(() => {
    if (/(?:\n\n|\r\r|\n\r\n)$/.test(tail)) write(comment);
  }, quietMs).unref();
  return {
    passed(chunk) {
      tail = (tail + chunk.subarray(-3).toString('latin1')).slice(-3);
      timer.refresh();
    },
    stop: () => clearInterval(timer),
  };
}
