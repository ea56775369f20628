import { jsonEscapes } from '../lib/wording.ts';

/** What lines are written to: a stream, or what passes them on to one. */
export interface LinesOutput {
  write(text: Buffer | string, done: () => void): boolean;
  readonly writableLength: number;
}

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

/**
 * The limit on unread output in UTF-16 code units, after which lines are dropped: a stuck log must not stop the service
 * or fill memory.
 */
const MAX_PENDING = 8 * 1024 * 1024;
const LAST_MS = 1_000;

/** Characters that JSON does not escape and a terminal obeys: DEL, C1 controls, line breaks, changes of direction. */
const actsOnTerminals = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
/** The only one of them in ASCII. */
const DELETE = 0x7f;

/** JSON without characters that a terminal obeys, with the same values. */
export function harmlessJson(json: string): string {
  return json.replaceAll(actsOnTerminals, jsonEscapes);
}

/** Text for a terminal, in UTF-8. */
function harmless(text: string): Buffer {
  const bytes = Buffer.from(text);
  // Most text is ASCII: a search by `actsOnTerminals` takes longer than to encode it.
  const isPlain = bytes.length === text.length && !bytes.includes(DELETE);
  return isPlain ? bytes : Buffer.from(harmlessJson(text));
}

/**
 * Creates a log that collects the lines of one turn of the event loop, or those that come while the output is busy, and
 * writes them together.
 *
 * @param onDropped Called for each line that is dropped. @returns whether it tells the readers of the log itself.
 */
export function createJsonLines(output: LinesOutput, onDropped: () => boolean | void = () => {}): JsonLines {
  let lines: string[] = [];
  let pending = 0;
  let scheduled = false;
  let dropped = 0;
  let reported = 0;
  const flush = (): void => {
    scheduled = lines.length > 0;
    if (!scheduled) return;
    const text = lines.join('');
    lines = [];
    output.write(harmless(text), () => {
      pending -= text.length;
      flush();
    });
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
    if (pending > MAX_PENDING) {
      dropped += 1;
      if (onDropped() === true) reported += 1;
      return;
    }
    if (!scheduled) setImmediate(flush);
    scheduled = true;
    if (dropped > reported) {
      reported = dropped;
      add(JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg: 'log lines dropped', dropped }));
    }
    add(json);
  }

  function add(json: string): void {
    lines.push(json, '\n');
    pending += json.length + 1;
  }
}
