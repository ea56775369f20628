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

/** Everything that one configuration was read from, as JSON, so that another process can read the same. */
export interface Snapshot {
  readonly texts: readonly (readonly [file: string, found: TextOrFault])[];
  readonly folders: readonly (readonly [folder: string, names: readonly string[] | null])[];
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

/** Files that record what is read from them. */
export function recorded(files: Files): Files & { readonly snapshot: () => Snapshot } {
  const { at } = files;
  const texts = new Map<string, TextOrFault>();
  const folders = new Map<string, readonly string[] | null>();
  return {
    async text(file) {
      const found = await files.text(file);
      texts.set(file, found);
      return found;
    },
    async names(folder) {
      const found = await files.names(folder);
      folders.set(folder, found ?? null);
      return found;
    },
    at,
    snapshot: () => ({ texts: [...texts], folders: [...folders], at }),
  };
}

/** The files of a snapshot, and no others. */
export function filesOf({ texts, folders, at }: Snapshot): Files {
  const [known, names] = [new Map(texts), new Map(folders)];
  return {
    text: (file) => Promise.resolve(known.get(file) ?? { fault: 'does not exist' }),
    names: (folder) => Promise.resolve(names.get(folder) ?? undefined),
    at,
  };
}
