import { write } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

const writeSome = promisify(write);

/** The pause before a full pipe is tried again. */
const RETRY_MS = 10;
/** The pause after a write: a system call for each turn of a busy event loop would cost more than the lines. */
const PACE_MS = 10;

/**
 * Standard output as a stream that never blocks and never fails. `process.stdout` writes synchronously to a pipe: a
 * stuck reader would stop the service (Node, "A note on process I/O"). Text that cannot be written, because the reader
 * is gone or the disk is full, is dropped. Text that comes within {@link PACE_MS} of a write waits, and is written
 * together.
 */
export function standardOutput(fd: number = process.stdout.fd): Writable {
  const write = async (bytes: Buffer, done: () => void): Promise<void> => {
    await writeWhole(fd, bytes).catch(() => {});
    await setTimeout(PACE_MS);
    done();
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
    writev: (chunks, done) => void write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
  });
}

/** Writes all of `chunk`. Reading `process.stdout` makes a pipe non-blocking: it says EAGAIN when it is full. */
async function writeWhole(fd: number, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length;) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- each part comes after the one before
      at += (await writeSome(fd, chunk, at)).bytesWritten;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      // oxlint-disable-next-line no-await-in-loop -- the same
      await setTimeout(RETRY_MS, undefined, { ref: false });
    }
  }
}

/** Copies whole lines, as fast as `to` takes them, so that lines of several processes do not mix. */
export function copyLines(from: Readable | null, to: Writable): void {
  let rest = '';
  from?.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    const flows = to.write(rest + text.slice(0, end));
    rest = text.slice(end);
    if (flows) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
}
