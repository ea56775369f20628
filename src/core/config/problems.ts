import { printable, quoted, withoutRandom, messageOf } from '../lib/wording.ts';

/** A place inside a YAML file: keys of mappings and indices of lists, from the top. */
export type Path = readonly (string | number)[];

/** Where in the text a problem is, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A problem of one file. */
export class Problem {
  /** As the operator named it, so that a terminal can open it. */
  readonly file: string;
  /** Absent when the file as a whole is meant: it cannot be read. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** `routes[2].upstream.url`; empty for the file as a whole. */
  readonly path: string;
  /** What was found and what would be accepted; never a secret. */
  readonly message: string;

  constructor(file: string, position: Position | undefined, path: Path, message: string) {
    this.file = file;
    this.line = position?.line;
    this.column = position?.column;
    this.path = pathText(path);
    this.message = message;
  }

  /** `gateway.yaml:14:5: routes[2].upstream.url: "ftp://x" is not an http(s) URL`, always one line. */
  toString(): string {
    const place = this.line === undefined ? this.file : `${this.file}:${this.line}:${this.column}`;
    const text = this.path === '' ? `${place}: ${this.message}` : `${place}: ${this.path}: ${this.message}`;
    return printable(text);
  }
}

/** A configuration that cannot be used, with every problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** In the order of the text, `gateway.yaml` first. Never empty. */
  readonly problems: readonly Problem[];
  /** Every file that was read: what to watch until it is repaired. */
  readonly files: readonly string[];

  constructor(problems: readonly Problem[], files: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
    this.files = files;
  }
}

/** The lines of an error that a configuration caused, one for each problem. */
export function problemsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map(String);
  return [messageOf(error)];
}

/** A path as operators read it: `routes[2].upstream.url`, unusual keys in quotes. */
export function pathText(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_][\w-]*$/.test(segment) || withoutRandom(segment) !== segment) text += `[${quoted(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** Orders the problems of one file. */
export function inTextOrder(one: Problem, other: Problem): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0);
}
