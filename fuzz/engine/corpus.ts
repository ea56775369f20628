import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../corpus/', import.meta.url));

/** The committed cases of a target, by the names of their files. */
export function readCorpus(target: string): ReadonlyMap<string, Buffer> {
  const path = join(folder, target);
  if (!existsSync(path)) return new Map();
  const names = readdirSync(path).toSorted();
  return new Map(names.map((name) => [name, readFileSync(join(path, name))]));
}

/** Adds a case, under the name of its content. */
export function writeCase(target: string, input: Buffer, prefix = ''): string {
  const path = join(folder, target);
  mkdirSync(path, { recursive: true });
  const name = prefix + createHash('sha256').update(input).digest('hex').slice(0, 12);
  writeFileSync(join(path, name), input);
  return name;
}
