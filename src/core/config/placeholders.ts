import { resolve } from 'node:path';
import type { Files } from './files.ts';
import type { Path } from './problems.ts';

/** A document with every placeholder replaced by what it stands for. */
export interface Expanded {
  /** A copy; a string that could not be expanded is {@link unresolved}. */
  readonly value: unknown;
  /** The problems, each with its place. None shows what a placeholder stands for. */
  readonly faults: readonly PlaceholderFault[];
  /** Files that placeholders name, whether they could be read or not. */
  readonly files: readonly string[];
}

/** A placeholder that could not be replaced. */
interface PlaceholderFault {
  readonly path: Path;
  readonly message: string;
  /** Whether it is well-formed, and its variable or file is not there or empty. */
  readonly isMissing: boolean;
}

/** Takes the place of a string whose placeholder could not be replaced, which was reported. */
export const unresolved = Symbol('unresolved');

/** Whether a value is a text with a placeholder, also one that is not well-formed. */
export function hasPlaceholder(value: unknown): value is string {
  return typeof value === 'string' && value.includes('${');
}

/** Whether `source` is one placeholder, and `value` is its default. */
export function isDefault(source: unknown, value: string): boolean {
  return typeof source === 'string' && /^\$\{env:[^}]+?:-([^}]*)\}$/.exec(source)?.[1] === value;
}

/**
 * Replaces `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` in all string values; not in keys. An empty
 * variable counts as unset, as in shells: compose files pass empty ones on. An inserted value is not expanded again.
 *
 * @param folder Relative paths start here.
 */
export async function expand(
  document: unknown,
  env: NodeJS.ProcessEnv,
  folder: string,
  read: Files,
): Promise<Expanded> {
  const faults: PlaceholderFault[] = [];
  const files = new Set<string>();

  async function visit(value: unknown, path: Path): Promise<unknown> {
    if (typeof value === 'string') return hasPlaceholder(value) ? await text(value, path) : value;
    if (Array.isArray(value)) return await Promise.all(value.map((each, index) => visit(each, [...path, index])));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(async ([key, each]) => [key, await visit(each, [...path, key])] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  async function text(source: string, path: Path): Promise<unknown> {
    const parts = source.split(/(\$\{[^}]*\}?)/);
    const expanded = await Promise.all(parts.map((part) => replacement(part, path)));
    return expanded.includes(undefined) ? unresolved : expanded.join('');
  }

  async function replacement(placeholder: string, path: Path): Promise<string | undefined> {
    if (!hasPlaceholder(placeholder)) return placeholder;
    const match = /^\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?|file:([^}\p{Cc}]+))\}$/u.exec(placeholder);
    const [, name, fallback, file] = match ?? [];
    if (match === null || hasPlaceholder(placeholder.slice(2))) {
      faults.push({
        path,
        message: `a malformed placeholder; write ${accepted}${claimHint(placeholder)}`,
        isMissing: false,
      });
      return undefined;
    }
    if (file !== undefined) {
      files.add(resolve(folder, file));
      const { text, fault } = await read.text(resolve(folder, file));
      const secret = text === undefined ? undefined : secretIn(text);
      if (secret !== undefined && secret !== '') return secret;
      faults.push({ path, message: `\${file:${file}} ${fault ?? 'is empty'}`, isMissing: true });
      return undefined;
    }
    const value = env[name ?? ''];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback.slice(2);
    const state = value === '' ? 'empty' : 'not set';
    faults.push({ path, message: `the environment variable ${name} is ${state}`, isMissing: true });
    return undefined;
  }

  return { value: await visit(document, []), faults, files: [...files] };
}

/** The secret in the text of a file. The last line break is an editor's or `echo`'s, not the secret's. */
export function secretIn(text: string): string {
  return text.replace(/\r?\n$/, '');
}

const accepted = '${env:NAME}, ${env:NAME:-default} or ${file:PATH}';

function claimHint(placeholder: string): string {
  return /^\$\{claims?[:.]/.test(placeholder) ? '; a claim of the caller is sent by identity' : '';
}
