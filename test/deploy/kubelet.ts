import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A volume of a ConfigMap. */
export interface ConfigMapVolume {
  readonly data: Readonly<Record<string, string>>;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

let revision = 0;

/**
 * Brings a ConfigMap into a folder as the kubelet does: all of it into a new folder, `..data` turned to that in one step,
 * what was there before removed. What a container sees are links through `..data`.
 */
export function project(folder: string, { data, items }: ConfigMapVolume): void {
  const fresh = `..2026_11_21_${(revision += 1)}`;
  for (const { key, path } of items) {
    const file = join(folder, fresh, path);
    mkdirSync(dirname(file), { recursive: true });
    const text = data[key];
    if (text === undefined) throw new Error(`${key} is not in the ConfigMap: the pod would not start`);
    writeFileSync(file, text);
  }
  symlinkSync(fresh, join(folder, '..data_tmp'));
  const before = current(folder);
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  for (const name of new Set(items.map(({ path }) => path.split('/')[0] ?? ''))) {
    rmSync(join(folder, name), { force: true });
    symlinkSync(join('..data', name), join(folder, name));
  }
  if (before !== undefined) rmSync(join(folder, before), { recursive: true });
}

function current(folder: string): string | undefined {
  try {
    return readlinkSync(join(folder, '..data'));
  } catch {
    return undefined;
  }
}
