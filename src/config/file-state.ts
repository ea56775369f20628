import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The state of a file or folder when it was read. */
export interface FileState {
  /** A hash of a file's bytes, the names in a folder, or why there is neither. */
  readonly content: string;
  /** The folder that really holds it, with symbolic links resolved. */
  readonly folder: string | undefined;
  /** When its bytes, its name or its rights last changed, in milliseconds since the epoch. */
  readonly changedAt: number;
  readonly isFolder: boolean;
  /** Changes whenever the content may have. */
  readonly stamp: string;
  /** Whether one more change would be sure to show in {@link FileState.stamp}. */
  readonly isSettled: boolean;
}

/**
 * Two changes within one tick of a file system's clock look like one; the coarsest clock in use ticks every 2 s (FAT).
 */
const TICK_MS = 2_000;

/**
 * Reads the state of a file or folder, following symbolic links. It reads the content only if that may differ from
 * `before`. Never throws: a file that cannot be read has a state too.
 */
export async function readState(path: string, before?: FileState): Promise<FileState> {
  try {
    if (before?.isSettled === true && stampOf(await stat(path, { bigint: true })) === before.stamp) return before;
    const content = await contentOf(path);
    // After the content: a change in between must count as newer than the content.
    const found = await stat(path, { bigint: true });
    const changedAt = Number(found.ctimeMs);
    return {
      content,
      folder: dirname(await realpath(path)),
      changedAt,
      isFolder: found.isDirectory(),
      stamp: stampOf(found),
      isSettled: Date.now() - changedAt > TICK_MS,
    };
  } catch (error) {
    const content = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return { content, folder: undefined, changedAt: 0, isFolder: false, stamp: '', isSettled: false };
  }
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

async function contentOf(path: string): Promise<string> {
  const found = await stat(path);
  if (found.isDirectory()) return await namesIn(path);
  return found.isFile() ? await hashOf(path) : 'no file';
}

/** Leaves out names that start with a dot, which editors and Kubernetes (`..data`) create for themselves. */
async function namesIn(folder: string): Promise<string> {
  const names = await readdir(folder);
  return JSON.stringify(names.filter((name) => !name.startsWith('.')).toSorted());
}

async function hashOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('base64url');
}
