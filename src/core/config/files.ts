import { readdir } from 'node:fs/promises';
import { readText, type TextOrFault } from '../lib/files.ts';

/** The source that a configuration is read from. */
export interface Files {
  readonly text: (file: string) => Promise<TextOrFault>;
  /** The names in a folder; undefined where there is no such folder. */
  readonly names: (folder: string) => Promise<readonly string[] | undefined>;
  /** When they are read, in milliseconds since the epoch: a certificate may have expired by then. */
  readonly at: number;
}

/** The files as they are now. */
export const disk: Files = {
  text: readText,
  names: (folder) => readdir(folder).catch(() => undefined),
  get at() {
    return Date.now();
  },
};
