import { lstat, readFile, stat } from 'node:fs/promises';

/** The text of a file, or why it cannot be read. Exactly one of the members is present. */
export interface TextOrFault {
  readonly text?: string;
  /** Follows the file's name in a message: `does not exist`. */
  readonly fault?: string;
}

/** Reads a UTF-8 file. A byte order mark is dropped; bytes that are not UTF-8 are refused rather than replaced. */
export async function readText(file: string): Promise<TextOrFault> {
  try {
    // A pipe or device may never end.
    if (!(await stat(file)).isFile()) return { fault: 'is not a file' };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)) };
  } catch (error) {
    return { fault: readFault(error) };
  }
}

/** Why a file cannot be read, by the error of the system; follows the file's name in a message. */
export function readFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
  if (code === 'EISDIR') return 'is not a file';
  if (code === 'EACCES') return 'may not be read (permission denied)';
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8 text';
  return `cannot be read (${code})`;
}

/** Whether there is something at a path. A dangling link counts too: writing would follow it. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
