import { createReadStream } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout } from 'node:timers/promises';

/** How often a file is looked at: network file systems and mounts of containers send no events. */
const POLL_MS = 250;

/**
 * The lines of a file; `-` reads stdin. Node's `readline` would also split at U+2028, which JSON may hold. The log
 * would then lack each caller that has one in the name.
 *
 * @throws the system's error if the file cannot be read.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const input = (file === '-' ? process.stdin : createReadStream(file)).setEncoding('utf8');
  let rest = '';
  for await (const text of input as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/**
 * The lines of a file, and those that are appended to it, without end. After the file was replaced by another one of
 * the same name, or cut to a shorter one, it goes on with the new content.
 *
 * @throws the system's error if the file cannot be read.
 */
export async function* followedLines(path: string): AsyncGenerator<string> {
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
async function* linesUntilReplaced(path: string, file: FileHandle): AsyncGenerator<string> {
  const buffer = Buffer.alloc(64 * 1024);
  let decoder = new StringDecoder('utf8');
  let position = 0;
  let rest = '';
  let isReplaced = false;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    position += bytesRead;
    const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (bytesRead > 0) continue;
    // A writer may use the old file for a moment after the new one is there.
    if (isReplaced) break;
    await setTimeout(POLL_MS);
    isReplaced = await hasReplacement(path, file);
    if ((await file.stat()).size >= position) continue;
    decoder = new StringDecoder('utf8');
    position = 0;
    rest = '';
  }
  if (rest !== '') yield rest;
}

async function hasReplacement(path: string, file: FileHandle): Promise<boolean> {
  const [own, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there !== undefined && (there.ino !== own.ino || there.dev !== own.dev);
}
