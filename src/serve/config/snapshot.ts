import type { Files } from '../../core/config/files.ts';
import type { TextOrFault } from '../../core/lib/files.ts';

/** Everything that one configuration was read from, as JSON, so that another process can read the same. */
export interface Snapshot {
  readonly texts: readonly (readonly [file: string, found: TextOrFault])[];
  readonly folders: readonly (readonly [folder: string, names: readonly string[] | null])[];
  readonly at: number;
}

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
