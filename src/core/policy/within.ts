/**
 * @module Paths that `within` compares. A server may read another path into some of them, so that a path with a flaw is
 * within nothing and outside of nothing.
 */

/**
 * Empty segments but one at each end, dot segments, and what a server may decode to one or take for a separator, as a
 * regular expression.
 */
export const flawSource = String.raw`^$|//|(?:^|/)\.{1,2}(?:/|$)|[\\\p{Cc}]|%(?:2[eEfF]|5[cC]|25)`;
const flaws = new RegExp(flawSource, 'u');

/** The flaw of a value that is compared, in words after it; undefined for a path that every server reads alike. */
export function valueFlaw(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'is not a text';
  if (!flaws.test(value)) return undefined;
  return 'is no path that every server reads alike: write segments without . and .., \\ and control characters';
}

/** The flaw of a value that is one segment of a prefix. */
export function segmentFlaw(value: unknown): string | undefined {
  return valueFlaw(value) ?? ((value as string).includes('/') ? 'has more than one segment' : undefined);
}

/** The flaw of a constant of a prefix: the first may begin with `/`. */
export function pathPrefixFlaw(value: string, index: number): string | undefined {
  const flaw = valueFlaw(value);
  return flaw ?? (index > 0 && value.startsWith('/') ? 'begins with /, which already stands between parts' : undefined);
}

/** A path without a `/` at its end. */
export function withoutEnd(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
