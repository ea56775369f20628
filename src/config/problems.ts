/** A place inside a YAML file: keys of mappings and indices of lists, from the top. */
export type Path = readonly (string | number)[];

/** Where in the text a problem is, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong with one file. */
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

/** One line: a name from a file or the command line could bring a line break, or a code that the terminal obeys. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}');
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** In the order of the text, `gateway.yaml` first. Never empty. */
  readonly problems: readonly Problem[];
  /** Every file that was looked at: what to watch for the repair. */
  readonly files: readonly string[];

  constructor(problems: readonly Problem[], files: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
    this.files = files;
  }
}

/** What an error that came of a configuration says, each problem in a line. */
export function problemsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map(String);
  return [error instanceof Error ? error.message : String(error)];
}

/** A path as operators read it: `routes[2].upstream.url`, unusual keys in quotes. */
export function pathText(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_][\w-]*$/.test(segment) || withoutRandom(segment) !== segment) text += `[${shown(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/**
 * A string in quotes for a message: one line, cut after 80 characters, and without what may be secret in it. That is
 * the default of a placeholder, everything before an `@` (a URL's password), everything after a `?`, a PEM text
 * that stands where its file's name should, and what looks random: somebody pasted it into the wrong line.
 */
export function shown(text: string): string {
  const masked = withoutRandom(withoutDefaults(text))
    .replace(/^.*@/s, '…@')
    .replace(/(\?|-----BEGIN).+$/s, '$1…');
  return JSON.stringify(masked.length > 80 ? `${masked.slice(0, 80)}…` : masked);
}

/** A string whose placeholders have lost their defaults: one may be a secret of the demo. */
export function withoutDefaults(text: string): string {
  return text.replaceAll(/(\$\{env:[^}]*?:-)[^}]*\}?/g, '$1…}');
}

/** Letters and digits take turns too often for a name, in this many characters at least. */
const RANDOM_LENGTH = 16;
const RANDOM_TURNS = 5;

/** A string without the parts of it that look as if a generator had written them: keys, secrets, tokens. */
export function withoutRandom(text: string): string {
  return text.replaceAll(/[A-Za-z0-9_~+=-]+/g, (run) => {
    const turns = run.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])/g)?.length ?? 0;
    return run.length >= RANDOM_LENGTH && turns >= RANDOM_TURNS ? '…' : run;
  });
}

/** Orders the problems of one file. */
export function inTextOrder(one: Problem, other: Problem): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0);
}
