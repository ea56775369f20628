import { withoutInvisible } from '../look-alike.ts';
import { ENCODED_SLASH, percentDecoded } from './path-flaw.ts';

/**
 * How lenient servers read paths that are canonical: routes and the entries of policies are both found by these
 * readings, so that no spelling that one of them knows evades the other.
 *
 * @module
 */

/**
 * The places where a name may end for such servers: at dots, spaces (some write them as a plus) and before each
 * extension; at an encoded `?` or `#`, for a proxy that decodes the path and writes it into another URL; at a stream of
 * NTFS, `name::$DATA`.
 */
const nameEnd = /(?<![\s.+])[\s+]*(?:[.?#]|:[:$]|$)/gu;

/** A character of a folded path that such a server may drop. */
export const droppable = /[.+?#]|:[:$]|[^!-~]/;

/** An encoded slash in a {@link visiblePath}, which has no other encoded character. */
const visibleSlash = ENCODED_SLASH.toLowerCase();

/** A path without differences of case, encoding and invisible characters. An encoded slash stays one character. */
export function visiblePath(path: string): string {
  if (!path.includes(ENCODED_SLASH)) return withoutInvisible(percentDecoded(path) ?? path);
  return path.split(ENCODED_SLASH).map(visiblePath).join(visibleSlash);
}

/** A {@link visiblePath} as a server reads it that decodes slashes before it separates segments. */
export function withDecodedSlashes(visible: string): string {
  return visible.replaceAll(visibleSlash, '/');
}

/**
 * The names that such servers may read a segment of a folded path as: itself without spaces around it and dots at its
 * end, and what is left at each {@link nameEnd}, shortest first. Where a plus precedes it, the same without the plus
 * comes before them. None is empty.
 *
 * @param maxLength Longer readings are left out, so that the cost does not grow with the path.
 */
export function segmentReadings(segment: string, maxLength: number): readonly string[] {
  const visible = withoutInvisible(segment).trimStart();
  const readings = readingsFrom(visible, maxLength);
  return visible.startsWith('+')
    ? [...readingsFrom(visible.replace(/^[\s+]+/u, ''), maxLength), ...readings]
    : readings;
}

function readingsFrom(text: string, maxLength: number): readonly string[] {
  const readings: string[] = [];
  for (const { index } of text.matchAll(nameEnd)) {
    if (index > maxLength) break;
    if (index > 0) readings.push(text.slice(0, index));
  }
  return readings;
}
