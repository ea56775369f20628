import { EventEmitter, once } from 'node:events';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { printed } from './secrecy.ts';

/** One line of a log, parsed. */
export type Line = Readonly<Record<string, unknown>>;

/**
 * The log of a gateway. The gateway writes its lines in batches, so an answer can come before the line about it: each
 * reader waits.
 */
export interface WrittenLog {
  /** Waits until the newest decision has these members. */
  decision(members?: Line): Promise<Line>;
  /** Waits for `count` decisions, and returns all decisions so far. */
  decisions(count: number): Promise<readonly Line[]>;
  /** Waits for a line with these members, and returns the newest one. */
  line(members: Line): Promise<Line>;
  /** All lines, including what the gateway recorded before the call. */
  lines(): Promise<readonly Line[]>;
  /** Forgets all lines so far, and returns them. */
  clearLog(): Promise<readonly Line[]>;
}

/** Longer than any line takes on a busy machine, and shorter than a test. */
const PATIENCE_MS = 10_000;
/** How many lines a failure shows. */
const SHOWN = 5;

/** Creates a log, and the stream that a gateway writes it to. `onLine` is called with each line. */
export function createWrittenLog(onLine?: (line: Line) => void): WrittenLog & { readonly output: Writable } {
  const written: Line[] = [];
  const batches = new EventEmitter().setMaxListeners(0);
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      printed('the log', chunk.toString());
      for (const text of chunk.toString().split('\n')) {
        if (text === '') continue;
        const line = JSON.parse(text) as Line;
        written.push(line);
        onLine?.(line);
      }
      batches.emit('written');
      done();
    },
  });
  const decided = (): Line[] => written.filter(({ msg }) => msg === 'decision');

  /** Waits until `read` finds a value, now or after a later batch. */
  async function when<Value>(wanted: string, read: () => Value | undefined): Promise<Value> {
    // Lets the gateway write the lines that it has recorded already.
    await setImmediate();
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const value = read();
      if (value !== undefined) return value;
      await once(batches, 'written', { signal }).catch(() => {
        const newest = written.slice(-SHOWN).map((line) => JSON.stringify(line));
        throw new Error(`no ${wanted} in the log; its newest lines:\n${newest.join('\n')}`);
      });
    }
  }

  return {
    output,
    decision: (members = {}) =>
      when(`newest decision with ${JSON.stringify(members)}`, () => decided().slice(-1).find(having(members))),
    decisions: (count) => when(`${count} decisions`, () => (decided().length < count ? undefined : decided())),
    line: (members) => when(`line with ${JSON.stringify(members)}`, () => written.findLast(having(members))),
    lines: () => when('lines', () => [...written]),
    async clearLog() {
      await setImmediate();
      return written.splice(0);
    },
  };
}

function having(members: Line): (line: Line) => boolean {
  return (line) => Object.entries(members).every(([name, value]) => isDeepStrictEqual(line[name], value));
}
