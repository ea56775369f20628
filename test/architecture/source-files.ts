import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** The repository. */
const root = dirname(dirname(import.meta.dirname));

/** A file of the repository: its path from the root, with `/`, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One import or re-export, types included. */
export interface Import {
  /** As written. */
  readonly specifier: string;
  /** Path from the root for a file of ours; the package's name, or `node:…`, for all others. */
  readonly target: string;
  readonly isOurs: boolean;
}

const notOurs = new Set(['node_modules', '.git', 'dist', 'bundle', 'coverage']);

/** Every file below `folder` that belongs to the repository; what tools leave behind is not looked at. */
export function filesIn(folder: string, wanted = /./): readonly SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry): readonly SourceFile[] => {
      const path = posix.join(folder, entry.name);
      if (notOurs.has(entry.name) || entry.name.endsWith('.log')) return [];
      if (entry.isDirectory()) return filesIn(path, wanted);
      return entry.isFile() && wanted.test(path) ? [{ path, text: readFileSync(join(root, path), 'utf8') }] : [];
    });
}

/** A statement at the beginning of a line: the formatter puts every import and re-export there, and no string. */
const statement = /^(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*'([^'\n]+)'/gm;
/** An import within an expression or a type. A module has no `require` of its own; one that was made is an import. */
const expression = /\bimport\s*\(\s*(?:'([^'\n]+)')?|\bcreateRequire\b/g;
const comment = /\/\*[^]*?\*\/|^\s*\/\/.*$/gm;

/**
 * What a file imports. TypeScript 7 has no API to ask, so that this reads text, and is strict instead of clever.
 *
 * @throws for an import whose target is not written out: a rule could not be checked for it.
 */
export function importsOf({ path, text }: SourceFile): readonly Import[] {
  const code = text.replaceAll(comment, '');
  const specifiers = [...code.matchAll(statement), ...code.matchAll(expression)].map(([, specifier]) => {
    if (specifier === undefined) throw new Error(`${path}: an import of something that is not written out`);
    return specifier;
  });
  return specifiers.map((specifier) => {
    if (specifier.startsWith('.')) {
      return { specifier, target: posix.join(posix.dirname(path), specifier), isOurs: true };
    }
    return { specifier, target: packageOf(specifier), isOurs: false };
  });
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
