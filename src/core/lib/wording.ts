/** @module How messages for people are worded. */

/** Words as a choice: `a`, `a or b`, `a, b or c`. */
export function either(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** Keeps messages readable: secrets are masked before, and issuers and file names fit in. */
const maxLength = 200;

/**
 * A string in quotes for a message: one line, at most {@link maxLength} characters, and without what may be secret: the
 * default of a placeholder, everything before an `@` (a URL's password), everything after a `?`, a PEM text
 * in the place of its file's name, and parts that look random, which may be secrets in the wrong line.
 */
export function quoted(text: string): string {
  const masked = withoutRandom(withoutDefaults(text))
    .replace(/^.*@/s, '…@')
    .replace(/(\?|-----BEGIN).+$/s, '$1…');
  return JSON.stringify(masked.length > maxLength ? `${masked.slice(0, maxLength)}…` : masked);
}

/** A string without the defaults of its placeholders, which may be secrets. */
export function withoutDefaults(text: string): string {
  return text.replaceAll(/(\$\{env:[^}]*?:-)[^}]*\}?/g, '$1…}');
}

/** A run of at least this many characters looks random if letters and digits alternate this often. */
const RANDOM_LENGTH = 16;
const RANDOM_TURNS = 5;

/** A string without the parts that look generated: keys, secrets, tokens. */
export function withoutRandom(text: string): string {
  return text.replaceAll(/[A-Za-z0-9_~+=-]+/g, (run) => {
    const turns = run.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])/g)?.length ?? 0;
    return run.length >= RANDOM_LENGTH && turns >= RANDOM_TURNS ? '…' : run;
  });
}

/**
 * A text in one line: a name from a file or the command line could bring a line break, or a code that the terminal
 * obeys.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}');
}

/** The word that is at most two typing errors away from what was written, if any. */
export function didYouMean(written: string, words: readonly string[]): string | undefined {
  // A short word is two edits away from too many.
  const limit = Math.min(2, Math.floor(written.length / 3));
  const near = words.map((word) => ({ word, edits: edits(written, word) })).filter(({ edits }) => edits <= limit);
  return near.toSorted((a, b) => a.edits - b.edits)[0]?.word;
}

/** Insertions, deletions, replacements and swaps of neighbours: optimal string alignment. */
function edits(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= from.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = swap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped));
    }
  }
  return at(from.length, to.length);
}

/** A number with its noun: `1 line`, `2 lines`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What an error says, in one line as a rule. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The stack of an error, for the log of a bug. */
export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Why a request failed, in one line: the code or the message of the innermost cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (inner instanceof Error) return reasonOf(inner);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** A URL for logs and messages, without its query, which may hold a key. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…');
}

/** Text as JSON escapes: `\u` and four digits for each UTF-16 code unit. */
export function jsonEscapes(text: string): string {
  return text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
