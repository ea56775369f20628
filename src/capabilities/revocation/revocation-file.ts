import { constants } from 'node:fs';
import { open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LockedError, lockFile } from './file-lock.ts';
import { StartFault } from '../../core/lib/start-fault.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { Revocation } from './revoked.ts';
import { memoryPlace, type RevocationPlace } from './place.ts';
import { isRevocation } from './revocation-index.ts';

/** An event: the revocations that it made, and the id by which its repetition is known. */
export interface KeptEvent {
  readonly revocations: readonly Revocation[];
  readonly id?: string | undefined;
  /** When the event arrived, in seconds since the epoch. */
  readonly arrivedAt: number;
}

/** Why the file cannot be used, in one line. */
class RevocationFileFault extends StartFault {
  override readonly name = 'RevocationFileFault';
}

/** The file names people: by default only the user of the gateway may read it. */
const MODE = 0o600;
/** The file is written anew when it has this many lines more than twice what is remembered. */
const SPARE_LINES = 10_000;

interface Waiting {
  readonly text: string;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

interface OpenedFile {
  readonly path: string;
  readonly file: FileHandle;
  /** The end of the last whole line. */
  readonly end: number;
  readonly lines: number;
  readonly remembered: () => readonly KeptEvent[];
  readonly unlock: () => Promise<void>;
}

/** The file of `revocation.file`: a line for each event, appended and flushed to the disk before it counts as kept. */
export class RevocationFile implements RevocationPlace {
  readonly drop = memoryPlace.drop;
  readonly lease = memoryPlace.lease;
  readonly #path: string;
  readonly #remembered: () => readonly KeptEvent[];
  readonly #unlock: () => Promise<void>;
  #file: FileHandle;
  /** The end of the last whole line. */
  #end: number;
  #lines: number;
  /** Below this number of lines it is not written anew. */
  #longEnough = SPARE_LINES;
  #isTorn = false;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor({ path, file, end, lines, remembered, unlock }: OpenedFile) {
    this.#path = path;
    this.#file = file;
    this.#end = end;
    this.#lines = lines;
    this.#remembered = remembered;
    this.#unlock = unlock;
  }

  /**
   * Opens the file, which need not exist. A last line that was not written whole, as a crash leaves it, was never
   * acknowledged, and is cut off.
   *
   * @param remembered What a file that is written anew holds.
   * @throws {RevocationFileFault} if another gateway uses it, it cannot be read and written, or a line is damaged.
   */
  static async open(
    path: string,
    remembered: () => readonly KeptEvent[],
  ): Promise<{ readonly file: RevocationFile; readonly events: readonly KeptEvent[]; readonly cutBytes: number }> {
    const unlock = await lock(path);
    try {
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return Buffer.alloc(0);
        throw error;
      });
      const { events, end } = eventsIn(path, bytes);
      // Not for appending: a write after a failed one has to begin where the last whole line ends.
      const file = await open(path, constants.O_RDWR | constants.O_CREAT, MODE);
      await file.truncate(end);
      await file.datasync();
      await syncFolder(path);
      const opened = new RevocationFile({ path, file, end, lines: events.length, remembered, unlock });
      return { file: opened, events, cutBytes: bytes.length - end };
    } catch (error) {
      await unlock();
      throw faultOf(error);
    }
  }

  async keep(revocations: readonly Revocation[], id: string | undefined, arrivedAt: number): Promise<'kept'> {
    const event: KeptEvent = { revocations, id, arrivedAt };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ text: `${JSON.stringify(event)}\n`, done: resolve, failed: reject });
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    await promise;
    return 'kept';
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
    await this.#unlock();
  }

  /** Writes all that waits, again and again: those that come during a flush share the next one. */
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#writeBatch(batch);
    }
  }

  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      if (this.#isTorn) await this.#file.truncate(this.#end);
      this.#isTorn = true;
      const bytes = Buffer.from(batch.map(({ text }) => text).join(''));
      await writeWhole(this.#file, bytes, this.#end);
      await this.#file.datasync();
      this.#isTorn = false;
      this.#end += bytes.length;
      this.#lines += batch.length;
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error as Error);
      return;
    }
    // The batch is kept already, whatever comes of this.
    await this.#shorten().catch(() => {});
  }

  /** Writes a file that is much longer than it need be anew, beside it, and puts it in its place. */
  async #shorten(): Promise<void> {
    if (this.#lines < this.#longEnough) return;
    const events = this.#remembered();
    this.#longEnough = 2 * events.length + SPARE_LINES;
    if (this.#lines < this.#longEnough) return;
    const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const next = await open(`${this.#path}.new`, 'w', MODE);
    await writeWhole(next, bytes, 0);
    await next.datasync();
    await rename(`${this.#path}.new`, this.#path);
    await syncFolder(this.#path);
    const before = this.#file;
    this.#file = next;
    this.#end = bytes.length;
    this.#lines = events.length;
    await before.close();
  }
}

/** Two gateways would each write over the lines of the other. */
async function lock(path: string): Promise<() => Promise<void>> {
  try {
    return await lockFile(`${path}.lock`);
  } catch (error) {
    if (!(error instanceof LockedError)) throw faultOf(error);
    const remedy = 'stop it, give each gateway a file of its own, or let them share revocations by `shared`';
    throw new RevocationFileFault(`revocation.file: another gateway uses ${path}: ${remedy}`);
  }
}

function faultOf(error: unknown): RevocationFileFault {
  return error instanceof RevocationFileFault
    ? error
    : new RevocationFileFault(`revocation.file: ${(error as Error).message}`);
}

async function writeWhole(file: FileHandle, bytes: Buffer, from: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    // The rest of the same bytes.
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, from + written);
    written += bytesWritten;
  }
}

/** A new name in a folder survives a crash only after this. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function eventsIn(path: string, bytes: Buffer): { events: KeptEvent[]; end: number } {
  const events: KeptEvent[] = [];
  let end = 0;
  while (end < bytes.length) {
    const newline = bytes.indexOf(10, end);
    const event = newline === -1 ? undefined : eventOf(bytes.toString('utf8', end, newline));
    if (event === undefined) {
      if (newline === -1 || newline === bytes.length - 1) break;
      const problem = `line ${events.length + 1} is not a revocation, and is not the last one`;
      throw new RevocationFileFault(`revocation.file: ${path}: ${problem}; restore the file, or move it away`);
    }
    events.push(event);
    end = newline + 1;
  }
  return { events, end };
}

function eventOf(line: string): KeptEvent | undefined {
  const event = parsedJson(line);
  if (!isObject(event) || !Array.isArray(event['revocations']) || typeof event['arrivedAt'] !== 'number')
    return undefined;
  return event['revocations'].every(isRevocation) ? (event as unknown as KeptEvent) : undefined;
}
