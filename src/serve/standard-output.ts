import { write } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { LineLink, OpenedLines } from '../capabilities/capability.ts';
import { Gatherer } from '../core/lib/gatherer.ts';
import { createJsonLines, type JsonLines, type LinesOutput } from '../core/telemetry/json-lines.ts';

const writeSome = promisify(write);

/** Called with the number of lines that could not be written. */
export type OnLost = (lines: number) => void;

const NEWLINE = 0x0a;
const RETRY_MS = 10;
/** The pause after a write: a system call for each turn of a busy event loop would cost more than the lines. */
const PACE_MS = 10;

/**
 * Standard output as a stream that never blocks and never fails. `process.stdout` writes synchronously to a pipe: a
 * stuck reader would stop the service (Node, "A note on process I/O"). Text that cannot be written, because the reader
 * is gone or the disk is full, is dropped. Text that comes within {@link PACE_MS} of a write waits, and is written
 * together.
 */
export function standardOutput(fd: number = process.stdout.fd, onLost: OnLost = () => {}): Writable {
  return lineOutput(() => fd, onLost);
}

/** {@link standardOutput} for the descriptor that is open when text is written. */
export function lineOutput(fd: () => number, onLost: OnLost): Writable {
  const write = async (chunks: readonly Buffer[], done: () => void): Promise<void> => {
    for (const chunk of chunks.some((each) => links.has(each)) ? chunks : [Buffer.concat(chunks)]) {
      const link = links.get(chunk);
      const bytes = link?.link(chunk) ?? chunk;
      const written = await writeUntilFault(fd(), bytes);
      const lost = link?.settled(written) ?? bytes.subarray(written).filter((byte) => byte === NEWLINE).length;
      if (lost > 0) onLost(lost);
    }
    await setTimeout(PACE_MS);
    done();
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void write([chunk], done),
    writev: (chunks, done) =>
      void write(
        chunks.map(({ chunk }) => chunk as Buffer),
        done,
      ),
  });
}

/** The links of lines that wait to be written. Lines of other processes have been linked there. */
const links = new WeakMap<Buffer, LineLink>();

/** Where lines of a log go, and what links them. */
interface LogOutput {
  readonly output: Writable;
  /** Undefined: lines are not linked. */
  readonly linked: OpenedLines | undefined;
  /** Default: `stdout`. */
  readonly name?: 'stdout' | 'file';
  /** Whether the output is no {@link lineOutput}, and takes all lines: they are linked before. */
  readonly takesAll?: boolean;
}

/** The lines of a log of this process. They end with what vouches for all of them. */
export function createLogLines(
  { output, linked, takesAll = false, name = 'stdout' }: LogOutput,
  onLost: OnLost = () => {},
): JsonLines {
  const link = linked?.of(name, () => target.write('', () => {}));
  const target = link === undefined ? output : linkedTo(output, link, takesAll);
  const lines = createJsonLines(target, () => {
    onLost(1);
    link?.lose(1);
    return link !== undefined;
  });
  return {
    write: (entry) => lines.write(entry),
    writeText: (json) => lines.writeText(json),
    get dropped() {
      return lines.dropped;
    },
    async close() {
      await lines.close();
      if (link === undefined) return;
      link.closeSection();
      await new Promise<void>((done) => target.write('', done));
    },
  };
}

function linkedTo(output: Writable, link: LineLink, takesAll: boolean): LinesOutput {
  return {
    write(text, done) {
      let bytes: Buffer = Buffer.from(text);
      if (takesAll) {
        bytes = link.link(bytes);
        link.settled(bytes.length);
      } else links.set(bytes, link);
      return output.write(bytes, done);
    },
    get writableLength() {
      return output.writableLength;
    },
  };
}

/**
 * Writes `chunk`, and returns how many bytes were written before an error. Reading `process.stdout` makes a pipe
 * non-blocking: it says EAGAIN when it is full.
 */
async function writeUntilFault(fd: number, chunk: Buffer): Promise<number> {
  let at = 0;
  while (at < chunk.length) {
    try {
      at += (await writeSome(fd, chunk, at)).bytesWritten;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return at;
      await setTimeout(RETRY_MS, undefined, { ref: false });
    }
  }
  return at;
}

/**
 * Copies whole lines, as fast as `to` takes them, so that lines of several processes do not mix. Workers that wrote to
 * standard output themselves would save about 5 % of the CPU time of a request, but could tear lines: a pipe takes only
 * 4,096 bytes as a whole (PIPE_BUF, POSIX `write`), and a decision with long claims is longer.
 */
export function copyLines(from: Readable | null, to: Writable): void {
  /** The line that has no end yet. */
  const open = new Gatherer();
  from?.on('data', (bytes: Buffer) => {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    open.push(bytes.subarray(0, end));
    const flows = end === 0 || to.write(open.take());
    open.push(bytes.subarray(end));
    if (flows) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
}
