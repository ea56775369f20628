import type { Writable } from 'node:stream';

/** A log of one JSON object a line, written off the hot path. */
export interface JsonLines {
  write(entry: object): void;
  /** Lines that were given up because the reader of the output is slower than we. */
  readonly dropped: number;
  /** Resolves when everything is written, or when nobody has read it for a moment. */
  close(): Promise<void>;
}

/** What the output may hold back before lines are given up: a stuck log must not stop the service or eat its memory. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** How long the last lines may take. */
const LAST_MS = 1_000;

/** Creates a log that collects the lines of one turn of the event loop and writes them at once. */
export function createJsonLines(output: Writable): JsonLines {
  let lines: string[] = [];
  let dropped = 0;
  let told = 0;
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = lines.join('');
    lines = [];
    output.write(text);
  };
  return {
    write(entry) {
      if (output.writableLength > MAX_PENDING_BYTES) {
        dropped += 1;
        return;
      }
      if (lines.length === 0) setImmediate(flush);
      if (dropped > told) {
        lines.push(
          `${JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg: 'log lines dropped', dropped })}\n`,
        );
        told = dropped;
      }
      lines.push(`${JSON.stringify(entry)}\n`);
    },
    get dropped() {
      return dropped;
    },
    close() {
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, LAST_MS);
        const done = (): void => {
          clearTimeout(timer);
          resolve();
        };
        flush();
        // Behind all that waits.
        if (output.writableLength === 0) done();
        else output.write('', done);
      });
    },
  };
}
