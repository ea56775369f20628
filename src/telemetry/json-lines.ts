import type { Writable } from 'node:stream';

/** A log of one JSON object a line, written off the hot path. */
export interface JsonLines {
  write(entry: object): void;
  /** The same for an object that is JSON already. */
  writeText(json: string): void;
  /** Lines that were given up because the reader of the output is slower than we. */
  readonly dropped: number;
  /** Resolves when everything is written, or when nobody has read it for a moment. */
  close(): Promise<void>;
}

/** What the output may hold back before lines are given up: a stuck log must not stop the service or eat its memory. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** How long the last lines may take. */
const LAST_MS = 1_000;

/** What JSON leaves as it is and a terminal obeys, or shows elsewhere than where it stands: DEL, C1, line breaks, directions. */
const actsOnTerminals = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const actOnTerminals = new RegExp(actsOnTerminals, 'g');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Creates a log that collects the lines of one turn of the event loop and writes them at once. */
export function createJsonLines(output: Writable): JsonLines {
  let lines: string[] = [];
  let dropped = 0;
  let told = 0;
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
        // Behind all that waits.
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
    if (dropped > told) {
      lines.push(
        `${JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg: 'log lines dropped', dropped })}\n`,
      );
      told = dropped;
    }
    lines.push(json, '\n');
  }
}
