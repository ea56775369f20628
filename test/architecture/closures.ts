import { dirname, posix } from 'node:path';
import { importsOf, type SourceFile } from './source-files.ts';

/** The imports and re-exports of a file that load code: neither types nor `import()`. */
const loading = /^(?:import|export)\s+(?!type\b)(?:(?<names>[^'"`;]*?)\s*\bfrom\s*)?'(?<specifier>\.[^'\n]+)'/gm;

/** Whether `{ type A, type B }` is all that a statement takes. */
function takesTypesAlone(names: string | undefined): boolean {
  const [, inner] = /^\{([^}]*)\}$/.exec(names?.trim() ?? '') ?? [];
  const taken = inner?.split(',').map((name) => name.trim());
  return taken !== undefined && taken.every((name) => name === '' || name.startsWith('type '));
}

function loadedBy({ path, text }: SourceFile): readonly string[] {
  return [...text.matchAll(loading)]
    .filter(({ groups }) => !takesTypesAlone(groups?.['names']))
    .map(({ groups }) => posix.join(dirname(path), groups?.['specifier'] ?? ''));
}

/** The files of `files` that are loaded with `path`, itself among them. */
export function loadedWith(files: readonly SourceFile[], path: string): readonly SourceFile[] {
  return closure(files, path, loadedBy);
}

/** The files of `files` that must be read to know all types of `path`, itself among them. */
export function readWith(files: readonly SourceFile[], path: string): readonly SourceFile[] {
  return closure(files, path, (file) => importsOf(file).flatMap(({ isOurs, target }) => (isOurs ? [target] : [])));
}

function closure(
  files: readonly SourceFile[],
  path: string,
  next: (file: SourceFile) => readonly string[],
): readonly SourceFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<SourceFile>();
  const waiting = [path];
  for (let target = waiting.pop(); target !== undefined; target = waiting.pop()) {
    const file = byPath.get(target);
    if (file === undefined || reached.has(file)) continue;
    reached.add(file);
    waiting.push(...next(file));
  }
  return [...reached];
}

/** The lines of files together. */
export function linesOf(files: readonly SourceFile[]): number {
  return files.reduce((sum, { text }) => sum + text.trimEnd().split('\n').length, 0);
}
