import type { Writable } from 'node:stream';

/** A log of one JSON object a line, written after the request. */
export interface JsonLines {
  write(entry: object): void;
  /** As {@link write}, for text that is JSON already. */
  writeText(json: string): void;
  /** The number of lines that were dropped because the output is read too slowly. */
  readonly dropped: number;
  /** Resolves when everything is written, or after a second. */
  close(): Promise<void>;
}

/** The limit on unread output, after which lines are dropped: a stuck log must not stop the service or fill memory. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** The time limit for the last lines. */
const LAST_MS = 1_000;

/** Characters that JSON does not escape and a terminal obeys: DEL, C1 controls, line breaks, changes of direction. */
const actsOnTerminals = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const actOnTerminals = new RegExp(actsOnTerminals, 'g');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Creates a log that collects the lines of one turn of the event loop and writes them together. */
export function createJsonLines(output: Writable): JsonLines {
  let lines: string[] = [];
  let dropped = 0;
  let reported = 0;
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = lines.join('');
    lines = [];
    output.write(actsOnTerminals.test(text) ? text.replaceAll(actOnTerminals, escaped) : text);
  };
  return {
    write: (entry) => writeText(JSON.stringify(entry)),
    writeText,
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
        // The callback runs after all waiting writes.
        if (output.writableLength === 0) done();
        else output.write('', done);
      });
    },
  };

  function writeText(json: string): void {
    if (output.writableLength > MAX_PENDING_BYTES) {
      dropped += 1;
      return;
    }
    if (lines.length === 0) setImmediate(flush);
    if (dropped > reported) {
      lines.push(
        `${JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg: 'log lines dropped', dropped })}\n`,
      );
      reported = dropped;
    }
    lines.push(json, '\n');
  }
}
