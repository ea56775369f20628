import { createReadStream } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

/** How often a file is looked at: network file systems and mounts of containers send no events. */
const POLL_MS = 250;

/** A longer line is not read: the gateway writes none, and a file without newlines must not fill the memory. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * The lines of a file; `-` reads stdin; undefined for a line of more than 1 MiB. Node's `readline` would also split at
 * U+2028, which JSON may hold. The log would then lack each caller that has one in the name.
 *
 * @throws the system's error if the file cannot be read.
 */
export async function* linesOf(file: string): AsyncGenerator<string | undefined> {
  const splitter = new LineSplitter();
  const input = file === '-' ? process.stdin : createReadStream(file);
  for await (const bytes of input as AsyncIterable<Buffer>) yield* splitter.lines(bytes);
  yield* splitter.end();
}

/**
 * The lines of a file, and those that are appended to it, without end; undefined for a line of more than 1 MiB. After
 * the file was replaced by another one of the same name, or cut to a shorter one, it goes on with the new content.
 *
 * @throws the system's error if the file cannot be read.
 */
export async function* followedLines(path: string): AsyncGenerator<string | undefined> {
  for (;;) {
    const file = await open(path);
    try {
      yield* linesUntilReplaced(path, file);
    } finally {
      await file.close();
    }
  }
}

/** The lines of an open file until another file has its path. */
async function* linesUntilReplaced(path: string, file: FileHandle): AsyncGenerator<string | undefined> {
  const buffer = Buffer.alloc(64 * 1024);
  let splitter = new LineSplitter();
  let position = 0;
  let isReplaced = false;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    position += bytesRead;
    yield* splitter.lines(buffer.subarray(0, bytesRead));
    if (bytesRead > 0) continue;
    // A writer may use the old file for a moment after the new one is there.
    if (isReplaced) break;
    await setTimeout(POLL_MS);
    isReplaced = await hasReplacement(path, file);
    if ((await file.stat()).size >= position) continue;
    splitter = new LineSplitter();
    position = 0;
  }
  yield* splitter.end();
}

const NEWLINE = 0x0a;

/** Splits bytes into lines. It keeps the bytes of an open line apart, so that a long line takes linear time. */
class LineSplitter {
  #parts: Buffer[] = [];
  #length = 0;

  /** The lines that end in these bytes, which may be reused afterwards; undefined for one that is too long. */
  *lines(bytes: Buffer): Generator<string | undefined> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#add(bytes.subarray(start, end));
      yield this.#taken();
      start = end + 1;
    }
    this.#add(Buffer.from(bytes.subarray(start)));
  }

  /** The last line, if no newline ends it. */
  *end(): Generator<string | undefined> {
    if (this.#length > 0) yield this.#taken();
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length <= MAX_LINE_BYTES) this.#parts.push(part);
    else this.#parts = [];
  }

  #taken(): string | undefined {
    const line = this.#length <= MAX_LINE_BYTES ? Buffer.concat(this.#parts).toString() : undefined;
    this.#parts = [];
    this.#length = 0;
    return line;
  }
}

async function hasReplacement(path: string, file: FileHandle): Promise<boolean> {
  const [own, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there !== undefined && (there.ino !== own.ino || there.dev !== own.dev);
}
